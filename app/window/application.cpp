#include "app/window/application.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

#include <QApplication>
#include <QFileInfo>
#include <QSocketNotifier>
#include <QTemporaryDir>
#include <spdlog/spdlog.h>

#include "app/window/recordings.h"
#include "app/window/scripted_chat.h"
#include "app/window/traffic_plan.h"
#include "engine/service/engine_service.h"
#include "engine/service/gguf_model_provider.h"
#include "engine/service/packed_folder.h"
#include "ui/models/settings_file.h"
#include "ui/panels/banner.h"
#include "ui/program_desk.h"

namespace app::window {

namespace {

int g_signalSockets[2] = {-1, -1};  // a signal handler may only write to a descriptor

void onSignal(int) {
  const char one = 1;
  [[maybe_unused]] const auto written = ::write(g_signalSockets[0], &one, 1);
}

}  // namespace

Application::Application(QApplication& qtApp, const WindowOptions& options)
    : m_options(options), m_theme(qtApp) {
  QApplication::installTranslator(&m_plurals);
}

Application::~Application() {
  m_window.reset();  // before the engine it looks at
}

void Application::openPlaces() {
  if (m_options.isScripted) {
    m_scriptFolder = std::make_unique<QTemporaryDir>();
    const QString folder = m_scriptFolder->path();
    m_settings = std::make_unique<QSettings>(folder + QStringLiteral("/tessera.ini"), QSettings::IniFormat);
    m_store = std::make_unique<ui::models::ChatStore>(folder + QStringLiteral("/chats.sqlite"));
    return;
  }
  ui::models::OpenedSettings opened = ui::models::openSettings(ui::models::defaultSettingsPath());
  m_settings = std::move(opened.settings);
  m_settingsSentence = opened.sentence;
  m_store = std::make_unique<ui::models::ChatStore>(ui::models::ChatStore::defaultPath());
}

void Application::makeWindow() {
  engine::service::EngineParts parts;
  const auto packedFolder = engine::service::packedFolderOfEnvironment();
  if (!packedFolder) spdlog::warn("{}", packedFolder.error().message);
  parts.models = std::make_shared<engine::service::GgufModelProvider>(packedFolder ? *packedFolder : std::string());
  m_engine = engine::service::createEngineService(std::move(parts));
  m_window = std::make_unique<ui::MainWindow>(
      ui::WindowParts{*m_engine, *m_store, *m_settings, m_theme, drawTraffic, openRecording});
  m_messages.attach(m_window->desk().log());
}

// Files come from the command line, from drops and lists of the window, and from second starts: all go
// through m_files, which decides by their content.
void Application::connectFiles() {
  connect(&m_window->desk(), &ui::ProgramDesk::filesWanted, &m_files, &FileOpening::open);
  connect(&m_files, &FileOpening::modelChosen, m_window.get(), &ui::MainWindow::openModel);
  connect(&m_files, &FileOpening::traceChosen, this, &Application::openTrace);
  connect(&m_files, &FileOpening::refused, &m_window->banner(), &ui::panels::Banner::add);
  if (!m_instance) return;
  connect(m_instance.get(), &SingleInstance::filesArrived, this, [this](const QStringList& paths) {
    m_window->raiseToFront();
    if (!paths.isEmpty()) m_files.open(paths);
  });
}

void Application::openTrace(const QString& path) {
  m_window->openRecording(path);
}

void Application::watchSignals() {
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, g_signalSockets) != 0) return;
  m_signalNotifier = new QSocketNotifier(g_signalSockets[1], QSocketNotifier::Read, this);
  connect(m_signalNotifier, &QSocketNotifier::activated, this, [this] {
    m_signalNotifier->setEnabled(false);
    m_window->saveAll();
    QApplication::exit(0);
  });
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  for (int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaction(number, &action, nullptr);
}

// A desktop session that ends asks first and kills later.
void Application::watchSessionEnd() {
  connect(qApp, &QGuiApplication::commitDataRequest, this, [this] { m_window->saveAll(); }, Qt::DirectConnection);
  connect(qApp, &QCoreApplication::aboutToQuit, this, [this] { m_window->saveAll(); });
}

std::optional<int> Application::start() {
  QStringList files;
  if (!m_options.modelPath.isEmpty()) files << m_options.modelPath;
  if (!m_options.isScripted) {
    // before the chats are opened: those of the first window are its own
    m_instance = std::make_unique<SingleInstance>(SingleInstance::defaultName(ui::models::ChatStore::defaultPath()));
    const SingleInstance::Role role = m_instance->claim(files);
    if (role == SingleInstance::Role::HandedOn) return 0;
    if (role == SingleInstance::Role::Deaf) {
      std::fprintf(stderr, "tessera: %s\n", m_instance->sentence().toUtf8().constData());
      return 1;
    }
  }
  openPlaces();
  makeWindow();
  watchSignals();
  watchSessionEnd();
  connectFiles();
  if (m_options.isScripted) {
    auto* script = new ScriptedChat(*m_window, m_theme, m_options, this);
    connect(script, &ScriptedChat::ended, this, [](int code) { QApplication::exit(code); }, Qt::QueuedConnection);
    script->start();
    return std::nullopt;
  }
  if (m_options.sizes.size() == 1) m_window->resize(m_options.sizes.front());
  m_window->show();
  m_window->start(m_settingsSentence, files.isEmpty() ? ui::MainWindow::Begin::LastModel : ui::MainWindow::Begin::Nothing);
  if (!m_instance->sentence().isEmpty()) m_window->desk().log().add(engine::Severity::Warning, m_instance->sentence());
  if (!files.isEmpty()) m_files.open(files);
  return std::nullopt;
}

}  // namespace app::window
