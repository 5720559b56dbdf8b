#include "ui/program_desk.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMimeData>
#include <QUrl>
#include <utility>

#include "ui/main_window.h"
#include "ui/models/chat_markdown.h"
#include "ui/models/diagnostics.h"
#include "ui/models/openable_files.h"
#include "ui/panels/about_dialog.h"
#include "ui/panels/banner.h"
#include "ui/panels/chat_panel.h"
#include "ui/panels/first_run_page.h"
#include "ui/panels/log_window.h"
#include "ui/panels/settings_dialog.h"
#include "ui/style/fonts.h"
#include "ui/style/format.h"
#include "ui/style/theme.h"

namespace ui {

using models::Preferences;

namespace {

QStringList localFilesOf(const QMimeData& data) {
  QStringList paths;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile()) paths << url.toLocalFile();
  }
  return paths;
}

}  // namespace

ProgramDesk::ProgramDesk(MainWindow& window, QSettings& settings, style::Theme& theme)
    : QObject(&window), m_window(window), m_settings(settings), m_theme(theme), m_engineLog(window.engineBridge(), m_log) {
  m_preferences = models::readPreferences(settings, m_complaints);
  m_theme.setMode(m_preferences.theme);
  m_theme.setTextSize(m_preferences.textSize);
  m_window.conversations().setDefaults(m_preferences.chat, m_preferences.systemPrompt);
  m_window.loader().setDefaults(m_preferences.engine);
  m_window.setAcceptDrops(true);
  m_window.installEventFilter(this);
  panels::FirstRunPage& page = m_window.chatPanel().firstRun();
  connect(&page, &panels::FirstRunPage::fileWanted, this, [this](const QString& path) { emit filesWanted({path}); });
  connect(&m_window.loader(), &models::ModelLoader::recentChanged, this, &ProgramDesk::refreshFirstRun);
  connect(&m_window.loader(), &models::ModelLoader::unloaded, this, &ProgramDesk::refreshFirstRun);
  connect(&m_window.loader(), &models::ModelLoader::failed, this, &ProgramDesk::tellWhyNoModel);
  connect(&m_window.loader(), &models::ModelLoader::aboutToLoad, this, [this] {
    m_onPage.clear();
    m_window.chatPanel().firstRun().setRemark({});
  });
  connect(&m_window.loader(), &models::ModelLoader::cancelled, this, &ProgramDesk::refreshFirstRun);
  page.installEventFilter(this);
  refreshFirstRun();
}

ProgramDesk::~ProgramDesk() = default;

void ProgramDesk::tellWhatWasLeft(int numInterrupted, const QStringList& found) {
  QStringList sentences = found + m_complaints;
  if (numInterrupted > 0) {
    sentences << tr("The last run ended while %n answer(s) was being written. What had arrived is kept and marked as "
                    "interrupted; \"regenerate\" answers again.", nullptr, numInterrupted);
  }
  for (const QString& sentence : sentences) {
    if (sentence.isEmpty()) continue;
    m_window.banner().addLasting(sentence);
    m_log.add(engine::Severity::Warning, sentence);
  }
}

void ProgramDesk::tellStartHint() { tellWhyNoModel(m_window.loader().startHint()); }

void ProgramDesk::tellWhyNoModel(const QString& sentence) {
  refreshFirstRun();
  m_onPage.clear();
  if (m_window.chatPanel().firstRun().isVisible()) m_onPage = sentence;
  else m_window.banner().add(sentence);
}

// A sentence that was closed in the banner does not come back there.
void ProgramDesk::takeToPage() {
  const QString remark = m_window.chatPanel().firstRun().remark();
  if (!remark.isEmpty() && m_window.banner().remove(remark)) m_onPage = remark;
}

void ProgramDesk::takeToBanner() {
  if (!m_onPage.isEmpty()) m_window.banner().add(std::exchange(m_onPage, {}));
}

void ProgramDesk::refreshFirstRun() {
  panels::FirstRunChoices choices;
  choices.recent = m_window.loader().recentPaths();
  const models::OpenableFiles found = models::findOpenableFiles();
  for (const QString& path : found.models) {
    if (!choices.recent.contains(path)) choices.found << path;
  }
  choices.runs = found.runs;
  panels::FirstRunPage& page = m_window.chatPanel().firstRun();
  page.setChoices(choices);
  const QString& failure = m_window.loader().failure();
  page.setRemark(failure.isEmpty() ? m_window.loader().startHint() : failure);
}

// --- menus

void ProgramDesk::fillFileMenu(QMenu& menu) {
  QMenu* recent = menu.addMenu(tr("Open re&cent"));
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { fillRecent(*recent); });
  fillRecent(*recent);
  menu.addAction(tr("Copy chat as &Markdown"), QKeySequence(QStringLiteral("Ctrl+Shift+C")), this, &ProgramDesk::copyChat);
  menu.addAction(tr("Se&ttings…"), QKeySequence(QStringLiteral("Ctrl+Shift+,")), this, &ProgramDesk::showSettings);
}

void ProgramDesk::fillRecent(QMenu& menu) {
  menu.clear();
  const QStringList paths = m_window.loader().recentPaths();
  for (const QString& path : paths) {
    QString text = QFileInfo(path).fileName();
    text.replace(QLatin1Char('&'), QLatin1String("&&"));
    QAction* action = menu.addAction(text, this, [this, path] {
      if (!QFileInfo::exists(path)) m_window.loader().forget(path);
      emit filesWanted({path});  // which says when it is gone
    });
    action->setToolTip(path);
  }
  menu.setToolTipsVisible(true);
  if (paths.isEmpty()) {
    menu.addAction(tr("no model was opened yet"))->setEnabled(false);
    return;
  }
  menu.addSeparator();
  menu.addAction(tr("&Clear this list"), this, [this] { m_window.loader().forgetAll(); });
}

void ProgramDesk::fillHelpMenu(QMenu& menu) {
  menu.addAction(tr("&Log and diagnostics"), QKeySequence(QStringLiteral("Ctrl+Shift+L")), this, &ProgramDesk::showLog);
  menu.addAction(tr("&About Tessera"), this, &ProgramDesk::showAbout);
}

void ProgramDesk::copyChat() {
  auto& conversations = m_window.conversations();
  const qint64 chatId = m_window.chatPanel().chatId();
  const models::ChatRecord* chat = conversations.chat(chatId);
  if (!chat) return;
  std::vector<models::MessageRecord> branch;
  for (qint64 id : conversations.path(chatId)) branch.push_back(*conversations.tree(chatId).find(id));
  QApplication::clipboard()->setText(models::toMarkdown(*chat, branch));
  m_window.showStatus(tr("the chat was copied as Markdown"));
}

// --- settings

void ProgramDesk::setThemeMode(style::ThemeMode mode) {
  Preferences changed = m_preferences;
  changed.theme = mode;
  apply(changed);
}

void ProgramDesk::applyLook(style::ThemeMode theme, int textSize) {
  m_theme.setMode(theme);
  m_theme.setTextSize(textSize);
}

void ProgramDesk::apply(const Preferences& preferences) {
  const bool isEngineNew = preferences.engine != m_preferences.engine;
  const bool areLimitsNew = preferences.engine.limits != m_preferences.engine.limits;
  m_preferences = preferences;
  models::writePreferences(m_settings, preferences);
  applyLook(preferences.theme, preferences.textSize);
  m_window.conversations().setDefaults(preferences.chat, preferences.systemPrompt);
  if (isEngineNew) m_window.loader().adoptDefaults(preferences.engine);
  const auto& live = m_window.engineBridge().liveSnapshot();
  if (areLimitsNew && live && live->model) {
    engine::SchedulerLimits limits = live->config.limits;  // knobs turned elsewhere stay as they are
    limits.maxSeqs = preferences.engine.limits.maxSeqs;
    limits.maxBatchedTokens = preferences.engine.limits.maxBatchedTokens;
    limits.prefixCache = preferences.engine.limits.prefixCache;
    m_window.engineBridge().send(engine::SetLimits{limits});
  }
  if (m_settings.status() != QSettings::NoError) {
    m_window.banner().add(tr("The settings could not be written to %1.").arg(m_settings.fileName()));
  }
  emit m_window.preferencesChanged();
}

void ProgramDesk::showSettings() {
  if (m_settingsDialog) {
    m_settingsDialog->raise();
    return;
  }
  m_settingsDialog = new panels::SettingsDialog(m_preferences, {m_window.chatsPath(), m_settings.fileName()}, &m_window);
  m_settingsDialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(m_settingsDialog, &panels::SettingsDialog::lookChanged, this, &ProgramDesk::applyLook);
  connect(m_settingsDialog, &QDialog::accepted, this, [this] { apply(m_settingsDialog->preferences()); });
  m_settingsDialog->open();
}

// --- log and About

QString ProgramDesk::diagnostics() const {
  bridge::EngineBridge& bridge = m_window.engineBridge();
  models::DiagnosticsParts parts;
  parts.machine = models::readMachine();
  parts.engine = bridge.liveSnapshot();
  parts.log = &m_log.lines();
  parts.windowCost = QStringLiteral("%1 a frame, %2 Hz, ratio %3, text %4 px")
                         .arg(style::formatMs(bridge.cost().meanMs())).arg(bridge.framesPerSecond(), 0, 'f', 0)
                         .arg(m_window.devicePixelRatioF()).arg(m_preferences.textSize);
  parts.homePath = QDir::homePath();
  return models::diagnosticsText(parts);
}

void ProgramDesk::showLog() {
  if (!m_logWindow) m_logWindow = new panels::LogWindow(m_log, [this] { return diagnostics(); }, &m_window);
  m_logWindow->show();
  m_logWindow->raise();
  m_logWindow->activateWindow();
}

void ProgramDesk::showAbout() {
  auto* about = new panels::AboutDialog(&m_window);
  about->setAttribute(Qt::WA_DeleteOnClose);
  about->open();
}

// --- drops

bool ProgramDesk::eventFilter(QObject* watched, QEvent* event) {
  if (watched == &m_window.chatPanel().firstRun()) {
    if (event->type() == QEvent::Show) takeToPage();
    if (event->type() == QEvent::Hide) takeToBanner();
    return false;
  }
  if (watched != &m_window) return false;
  switch (event->type()) {
    case QEvent::WindowActivate:  // a model may have been fetched meanwhile
      if (m_window.chatPanel().firstRun().isVisible()) refreshFirstRun();
      return false;
    case QEvent::DragEnter: {
      auto* drag = static_cast<QDragEnterEvent*>(event);
      if (!drag->mimeData()->hasUrls()) return false;
      drag->acceptProposedAction();
      showDropHint(true);
      return true;
    }
    case QEvent::DragLeave: showDropHint(false); return true;
    case QEvent::Drop: {
      auto* drop = static_cast<QDropEvent*>(event);
      showDropHint(false);
      if (!drop->mimeData()->hasUrls()) return false;
      drop->acceptProposedAction();
      emit filesWanted(localFilesOf(*drop->mimeData()));
      return true;
    }
    default: return false;
  }
}

void ProgramDesk::showDropHint(bool shown) {
  if (!shown) {
    if (m_dropHint) m_dropHint->hide();
    return;
  }
  if (!m_dropHint) {
    auto* hint = new QLabel(tr("Drop a model (.gguf) or a recorded run to open it"), &m_window);
    hint->setProperty("role", "drophint");
    hint->setAlignment(Qt::AlignCenter);
    hint->setFont(style::textFont(18, QFont::DemiBold));
    hint->setAttribute(Qt::WA_TransparentForMouseEvents);
    m_dropHint = hint;
  }
  m_dropHint->setGeometry(m_window.rect().adjusted(24, 24, -24, -24));
  m_dropHint->show();
  m_dropHint->raise();
}

}  // namespace ui
