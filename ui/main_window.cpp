#include "ui/main_window.h"

#include <QCloseEvent>
#include <QHBoxLayout>
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "ui/models/openable_files.h"
#include "ui/panels/answer_card.h"
#include "ui/panels/banner.h"
#include "ui/panels/batch_panel.h"
#include "ui/panels/block_map_panel.h"
#include "ui/panels/chat_list_panel.h"
#include "ui/panels/chat_panel.h"
#include "ui/panels/load_bar.h"
#include "ui/panels/knobs_panel.h"
#include "ui/panels/latency_panel.h"
#include "ui/panels/open_model_dialog.h"
#include "ui/panels/over_time_panel.h"
#include "ui/panels/replay_bar.h"
#include "ui/panels/replay_panel.h"
#include "ui/panels/requests_panel.h"
#include "ui/panels/speculation_panel.h"
#include "ui/panels/status_line.h"
#include "ui/panels/timeline_panel.h"
#include "ui/panels/traffic_panel.h"
#include "ui/panels/transport_bar.h"
#include "ui/program_desk.h"
#include "ui/style/fonts.h"
#include "ui/style/metrics.h"
#include "ui/panels/why_panel.h"
#include "ui/panels/workbench.h"
#include "ui/views/engine_strip.h"

namespace ui {

using panels::Perspective;

namespace {

constexpr int kCardNeedsWidth = 1180;  // below, the conversation gets the room
constexpr const char* kGeometry = "window/geometry";
constexpr const char* kPerspective = "window/perspective";
constexpr const char* kChat = "window/chat";

}  // namespace

MainWindow::MainWindow(const WindowParts& parts, QWidget* parent)
    : QMainWindow(parent), m_settings(parts.settings), m_store(parts.store), m_theme(parts.theme),
      m_bridge(parts.engine), m_record(m_bridge), m_loader(m_bridge, parts.settings),
      m_conversations(parts.store, m_bridge), m_engine(parts.engine), m_openRecording(parts.openRecording) {
  setWindowTitle(tr("Tessera"));
  buildWidgets(parts);
  buildDocks(parts);
  layOutWidgets();
  connectWidgets();
  connectReplay();
  m_desk = new ProgramDesk(*this, m_settings, m_theme);
  buildMenus();
  keepWhole();
  resize(1280, 800);
  restoreGeometry(m_settings.value(QLatin1String(kGeometry)).toByteArray());
  m_workbench->loadLayouts(m_settings);
  const int perspective = m_settings.value(QLatin1String(kPerspective)).toInt();
  setPerspective(static_cast<Perspective>(qBound(0, perspective, int(Perspective::Tune))));
}

MainWindow::~MainWindow() { m_bridge.stop(); }

void MainWindow::buildWidgets(const WindowParts&) {
  m_header = new panels::HeaderBar(m_bridge, m_loader, this);
  m_chatList = new panels::ChatListPanel(m_conversations);
  m_chatPanel = new panels::ChatPanel(m_conversations, m_bridge);
  m_replayPanel = new panels::ReplayPanel(m_bridge, m_selection);
  m_chatStack = new QStackedWidget;
  m_chatStack->setMinimumWidth(260);  // whatever the page that is hidden would like
  m_chatStack->addWidget(m_chatPanel);
  m_chatStack->addWidget(m_replayPanel);
  m_chatCard = new panels::Card(tr("Conversation"));
  m_chatCard->body()->addWidget(m_chatStack, 1);
  m_answerCard = new panels::AnswerCard;
  m_cardColumn = new QWidget;
  m_banner = new panels::Banner;
  m_loadBar = new panels::LoadBar(m_loader);
  m_strip = new views::EngineStrip;
  m_status = new panels::StatusLine(m_bridge, m_conversations);
  m_replayBar = new panels::ReplayBar(m_bridge, m_record);
  m_replayBar->hide();
  m_workbench = new panels::Workbench;
}

void MainWindow::buildDocks(const WindowParts& parts) {
  using panels::LatencyPanel;
  using panels::OverTimePanel;
  const panels::ViewParts views{m_bridge, m_selection, m_record};
  const models::RunFigures& figures = m_record.figures();
  m_blockMap = new panels::BlockMapPanel(views);
  m_batch = new panels::BatchPanel(views);
  m_timeline = new panels::TimelinePanel(views);
  m_knobs = new panels::KnobsPanel(views);
  m_traffic = new panels::TrafficPanel(views, parts.drawTraffic);
  m_workbench->add(QStringLiteral("chat"), tr("Conversation"), m_chatCard);
  m_chatCard->body()->setContentsMargins(0, 0, 0, 0);  // the conversation has margins of its own
  m_workbench->add(QStringLiteral("blocks"), tr("Block map"), m_blockMap);
  m_workbench->add(QStringLiteral("batch"), tr("Batch"), m_batch);
  m_workbench->add(QStringLiteral("timeline"), tr("Over time"), m_timeline);
  m_workbench->add(QStringLiteral("requests"), tr("Requests"), new panels::RequestsPanel(views));
  m_workbench->add(QStringLiteral("why"), tr("Why this batch"), new panels::WhyPanel(views));
  m_workbench->add(QStringLiteral("speculation"), tr("Speculation"), new panels::SpeculationPanel(views));
  m_workbench->add(QStringLiteral("knobs"), tr("Knobs"), m_knobs);
  m_workbench->add(QStringLiteral("traffic"), tr("Traffic"), m_traffic);
  m_workbench->add(QStringLiteral("ttft"), tr("Time to first token"),
                   new LatencyPanel(views, tr("Time to first token"), {{tr("requests"), &figures.timeToFirstToken()}}));
  m_workbench->add(QStringLiteral("itl"), tr("Time between tokens"),
                   new LatencyPanel(views, tr("Time between tokens"),
                                    {{tr("each token"), &figures.timeBetweenTokens()},
                                     {tr("request means"), &figures.timePerOutputToken()}}));
  m_workbench->add(QStringLiteral("tokens"), tr("Tokens per second"), new OverTimePanel(views, OverTimePanel::tokensPlan(figures)));
  m_workbench->add(QStringLiteral("queue"), tr("Running and waiting"), new OverTimePanel(views, OverTimePanel::requestsPlan(figures)));
  m_workbench->add(QStringLiteral("kv"), tr("KV memory"), new OverTimePanel(views, OverTimePanel::kvPlan(figures)));
}

void MainWindow::layOutWidgets() {
  auto* column = new QVBoxLayout(m_cardColumn);
  column->setContentsMargins(0, 24, 14, 0);
  column->addWidget(m_answerCard);
  column->addStretch(1);
  m_middle = new QHBoxLayout;
  m_middle->setSpacing(0);
  auto* area = new QScrollArea;
  area->setProperty("role", "plain");
  area->setFocusPolicy(Qt::NoFocus);
  area->setWidgetResizable(true);
  area->setWidget(m_workbench);
  m_middle->addWidget(area, 1);
  m_middle->addWidget(m_cardColumn);
  auto* right = new QVBoxLayout;
  right->setSpacing(0);
  auto* bannerRow = new QHBoxLayout;
  bannerRow->setContentsMargins(12, 0, 12, 0);
  bannerRow->addWidget(m_banner);
  right->addLayout(bannerRow);
  right->addLayout(m_middle, 1);
  right->addWidget(m_strip);
  auto* body = new QHBoxLayout;
  body->setSpacing(0);
  body->addWidget(m_chatList);
  body->addLayout(right, 1);
  auto* central = new QWidget(this);
  auto* all = new QVBoxLayout(central);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  all->addWidget(m_header);
  auto* rule = new QFrame(central);
  rule->setFixedHeight(1);
  rule->setAutoFillBackground(true);
  rule->setBackgroundRole(QPalette::Mid);
  all->addWidget(rule);
  all->addWidget(m_loadBar);
  all->addLayout(body, 1);
  all->addWidget(m_replayBar);
  all->addWidget(m_status);
  setCentralWidget(central);
}

void MainWindow::connectWidgets() {
  connect(m_header, &panels::HeaderBar::perspectiveWanted, this, &MainWindow::setPerspective);
  connect(m_header, &panels::HeaderBar::openModelWanted, this, [this] { openModelDialog(); });
  connect(m_chatPanel, &panels::ChatPanel::openModelWanted, this, [this] { openModelDialog(); });
  connect(m_chatPanel, &panels::ChatPanel::figuresChanged, this, &MainWindow::showFigures);
  connect(m_chatList, &panels::ChatListPanel::chatSelected, this, [this](qint64 chatId) {
    m_settings.setValue(QLatin1String(kChat), chatId);  // now: a crash comes back to it
    m_chatPanel->showChat(chatId);
    m_chatPanel->focusComposer();
    showTitle();
    showFigures();
  });
  connect(&m_conversations, &models::Conversations::chatsChanged, this, &MainWindow::showTitle);
  connect(&m_theme, &style::Theme::changed, m_chatPanel, &panels::ChatPanel::refreshColors);
  connect(m_strip, &views::EngineStrip::showEngineWanted, this, [this] { setPerspective(Perspective::Teach); });
  connect(&m_store, &models::ChatStore::writeFailed, m_banner, &panels::Banner::add);
  connect(&m_loader, &models::ModelLoader::failed, this, [this](const QString& sentence) {
    if (m_openDialog) m_openDialog->setError(sentence);
  });
  connect(&m_loader, &models::ModelLoader::loaded, this, [this] {
    m_banner->onModelLoaded();
    const auto& live = m_bridge.liveSnapshot();
    if (live && live->model) m_status->showMessage(tr("%1 is ready").arg(QString::fromStdString(live->model->name)));
  });
  connect(&m_loader, &models::ModelLoader::doesNotFit, this, &MainWindow::openModelDialog);
  connect(&m_loader, &models::ModelLoader::cancelled, this, [this] { m_status->showMessage(tr("loading was cancelled")); });
  connect(&m_bridge, &bridge::EngineBridge::frameReady, this, &MainWindow::onFrame);
  connect(m_knobs, &panels::KnobsPanel::reloadWanted, &m_loader, &models::ModelLoader::load);
}

void MainWindow::start(const QString& settingsSentence, Begin begin) {
  m_desk->tellWhatWasLeft(m_store.numInterrupted(), {m_store.healthSentence(), settingsSentence});
  const qint64 remembered = m_settings.value(QLatin1String(kChat)).toLongLong();
  m_chatList->setCurrentChat(m_conversations.chat(remembered) ? remembered : m_conversations.newChat());
  m_bridge.start();
  m_bridge.pull();
  if (begin == Begin::Nothing) return;
  if (const auto config = m_loader.configToStartWith(); !config.load.modelPath.empty()) {
    m_loader.load(config);
  } else {
    m_desk->tellStartHint();
  }
}

void MainWindow::saveAll() {
  m_conversations.saveNow();
  m_settings.setValue(QLatin1String(kGeometry), saveGeometry());
  m_workbench->saveLayouts(m_settings);
  m_settings.setValue(QLatin1String(kPerspective), int(m_perspective));
  m_settings.setValue(QLatin1String(kChat), m_chatList->currentChat());
  m_settings.sync();
}

void MainWindow::openModel(const QString& path) { m_loader.open(path); }

void MainWindow::raiseToFront() {
  if (isMinimized()) showNormal();
  show();
  raise();
  activateWindow();
}

void MainWindow::showStatus(const QString& sentence) { m_status->showMessage(sentence); }

const QString& MainWindow::chatsPath() const { return m_store.path(); }

void MainWindow::setPerspective(Perspective perspective) {
  m_perspective = perspective;
  m_header->setPerspective(perspective);
  arrange();
}

void MainWindow::arrange() {
  const bool hasViews = m_perspective != Perspective::Chat;  // beside a narrow conversation
  m_chatList->setVisible(!hasViews);
  m_strip->setVisible(!hasViews);
  // it tells of the engine's answer, not of a recorded one
  m_cardColumn->setVisible(!hasViews && !isRecordingOpen() && width() >= kCardNeedsWidth * style::textScale());
  m_chatPanel->setCompact(hasViews);
  const int edge = hasViews ? 10 : 0;
  m_middle->setContentsMargins(edge, edge, edge, edge);
  m_workbench->setPerspective(m_perspective);
  keepWhole();
  showTitle();
  showFigures();  // the card may have come to be seen
}

void MainWindow::showTitle() {
  const auto* chat = m_conversations.chat(m_chatPanel->chatId());
  m_chatCard->setTitle(isRecordingOpen() ? tr("Recorded run") : chat ? chat->title : tr("Conversation"));
}

void MainWindow::showFigures() {
  if (!m_cardColumn->isVisible()) return;
  const qint64 chatId = m_chatPanel->chatId();
  const qint64 answer = m_chatPanel->shownAnswer();
  const auto* message = m_conversations.tree(chatId).find(answer);
  if (!message) {
    m_answerCard->clear();
    return;
  }
  const auto* stream = m_conversations.stream(chatId);
  const bool isLive = stream && stream->messageId == answer;
  const auto& live = m_bridge.liveSnapshot();
  m_answerCard->showStats(isLive ? stream->stats : message->stats, live && live->pool ? live->pool->numBlocks : 0);
}

void MainWindow::onFrame(const bridge::Frame& frame) {
  m_strip->takeFrame(frame);
  for (const auto& message : frame.messages) {
    if (const auto* notice = std::get_if<engine::Notice>(&message)) {
      const QString text = QString::fromStdString(notice->text);
      if (notice->severity == engine::Severity::Info) m_status->showMessage(text);
      else m_banner->add(text);
    }
  }
  if (frame.liveSnapshot && frame.liveSnapshot->state == engine::EngineState::Failed) {
    m_banner->add(tr("The engine has stopped: %1").arg(QString::fromStdString(frame.liveSnapshot->failure)));
  }
}

void MainWindow::openModelDialog(const QString& path) {
  if (m_openDialog) {
    m_openDialog->raise();
    return;
  }
  closeRecording();  // it answers no questions about models
  engine::EngineConfig config = m_loader.lastConfig();
  const auto& live = m_bridge.liveSnapshot();
  if (live && live->model) config = live->config;
  const QStringList known = models::withFoundModels(m_loader.recentPaths());
  if (config.load.modelPath.empty() && !known.isEmpty()) config.load.modelPath = known.front().toStdString();
  m_openDialog = new panels::OpenModelDialog(m_bridge, config, known, this);
  m_openDialog->setAttribute(Qt::WA_DeleteOnClose);
  if (!path.isEmpty()) m_openDialog->setPath(path);
  if (!m_loader.failure().isEmpty()) m_openDialog->setError(m_loader.failure());
  connect(m_openDialog, &QDialog::accepted, this, [this] { m_loader.load(m_openDialog->config()); });
  connect(m_openDialog, &QDialog::finished, this, [this] { m_openDialog = nullptr; });
  m_openDialog->open();
}

void MainWindow::showEvent(QShowEvent* event) {
  QMainWindow::showEvent(event);
  m_bridge.setWindowVisible(true);
}

void MainWindow::hideEvent(QHideEvent* event) {
  QMainWindow::hideEvent(event);
  m_bridge.setWindowVisible(false);
}

// The views scroll, the header does not.
void MainWindow::keepWhole() {
  setMinimumSize(std::max(style::kLeastWidth, m_header->leastWidth()), style::kLeastHeight);
}

void MainWindow::changeEvent(QEvent* event) {
  QMainWindow::changeEvent(event);
  if (event->type() == QEvent::FontChange) QMetaObject::invokeMethod(this, &MainWindow::keepWhole, Qt::QueuedConnection);  // the words have grown by then
  if (event->type() == QEvent::WindowStateChange) m_bridge.setWindowVisible(!isMinimized());
}

// Painting belongs to a frame's cost although it happens after it.
bool MainWindow::event(QEvent* event) {
  if (event->type() != QEvent::UpdateRequest) return QMainWindow::event(event);
  const double startMs = bridge::threadCpuMs();
  const bool handled = QMainWindow::event(event);
  m_bridge.addPaintMs(bridge::threadCpuMs() - startMs);
  return handled;
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  arrange();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  saveAll();
  m_bridge.stop();
  event->accept();
}

}  // namespace ui
