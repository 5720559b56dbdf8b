#include "app/window/application.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <QApplication>
#include <QSocketNotifier>
#include <QTemporaryDir>

#include "app/window/scripted_chat.h"
#include "engine/service/engine_service.h"
#include "engine/service/gguf_model_provider.h"

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
  openPlaces();
  engine::service::EngineParts parts;
  parts.models = std::make_shared<engine::service::GgufModelProvider>();
  m_engine = engine::service::createEngineService(std::move(parts));
  m_window = std::make_unique<ui::MainWindow>(ui::WindowParts{*m_engine, *m_store, *m_settings, m_theme});
  watchSignals();
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
  m_settings = std::make_unique<QSettings>(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("tessera"),
                                           QStringLiteral("tessera"));
  m_store = std::make_unique<ui::models::ChatStore>(ui::models::ChatStore::defaultPath());
}

void Application::watchSignals() {
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, g_signalSockets) != 0) return;
  m_signalNotifier = new QSocketNotifier(g_signalSockets[1], QSocketNotifier::Read, this);
  connect(m_signalNotifier, &QSocketNotifier::activated, this, [this] {
    m_signalNotifier->setEnabled(false);
    m_window->saveAll();
    QApplication::quit();
  });
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  for (int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaction(number, &action, nullptr);
}

void Application::start() {
  if (m_options.isScripted) {
    auto* script = new ScriptedChat(*m_window, m_theme, m_options, this);
    connect(script, &ScriptedChat::ended, this, [](int code) { QApplication::exit(code); }, Qt::QueuedConnection);
    script->start();
    return;
  }
  if (m_options.sizes.size() == 1) m_window->resize(m_options.sizes.front());
  m_window->show();
  m_window->start(m_options.modelPath);
}

}  // namespace app::window
