// The window: header, chats, conversation, the Teach and Tune views, status. No engine knowledge of its own.
#pragma once

#include <QMainWindow>
#include <QSettings>
#include <functional>
#include <memory>

#include "ui/bridge/engine_bridge.h"
#include "ui/bridge/selection.h"
#include "ui/models/conversations.h"
#include "ui/models/model_loader.h"
#include "ui/models/run_record.h"
#include "ui/models/traffic_run.h"
#include "ui/panels/header_bar.h"
#include "ui/style/theme.h"

class QHBoxLayout;
class QStackedWidget;
class QVBoxLayout;

namespace ui::views {
class EngineStrip;
}

namespace ui {

class ProgramDesk;

namespace panels {
class AnswerCard;
class Banner;
class ChatListPanel;
class ChatPanel;
class LoadBar;
class OpenModelDialog;
class StatusLine;
class BatchPanel;
class BlockMapPanel;
class Card;
class KnobsPanel;
class ReplayBar;
class ReplayPanel;
class TimelinePanel;
class TrafficPanel;
class Workbench;
}  // namespace panels

// What the window stands on; all must outlive it.
struct WindowParts {
  engine::EngineHandle& engine;
  models::ChatStore& store;
  QSettings& settings;
  style::Theme& theme;
  models::TrafficDraw drawTraffic = {};  // null: the window offers no traffic
  // An empty path means the recording that comes with the program. Null: none can be opened.
  std::function<engine::Result<std::unique_ptr<engine::EngineHandle>>(const QString& path)> openRecording = {};
};

// Ui thread only.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(const WindowParts& parts, QWidget* parent = nullptr);
  ~MainWindow() override;

  enum class Begin { LastModel, Nothing };
  // Begins to follow the engine, says what the last run left, and opens the last model when that is
  // wanted and safe. `settingsSentence`: what was wrong with the settings file.
  void start(const QString& settingsSentence = {}, Begin begin = Begin::LastModel);
  // A model chosen without the dialog, which comes when there is no room for it.
  void openModel(const QString& path);
  void raiseToFront();
  // For some seconds in the status line.
  void showStatus(const QString& sentence);
  const QString& chatsPath() const;
  // What a clean exit writes; also for SIGTERM.
  void saveAll();

  void setPerspective(panels::Perspective perspective);
  panels::Perspective perspective() const { return m_perspective; }
  void openModelDialog(const QString& path = {});

  // Plays a recorded run in this window until it is closed; an empty path means the program's own.
  // Refused, with a sentence above the conversation, while answers are being written.
  void openRecording(const QString& path = {});
  void closeRecording();
  bool isRecordingOpen() const { return m_recording != nullptr; }

  bridge::EngineBridge& engineBridge() { return m_bridge; }
  bridge::Selection& selection() { return m_selection; }
  models::Conversations& conversations() { return m_conversations; }
  models::ModelLoader& loader() { return m_loader; }
  panels::ChatPanel& chatPanel() { return *m_chatPanel; }
  panels::ChatListPanel& chatList() { return *m_chatList; }
  panels::Banner& banner() { return *m_banner; }
  models::RunRecord& record() { return m_record; }
  panels::Workbench& workbench() { return *m_workbench; }
  panels::BlockMapPanel& blockMap() { return *m_blockMap; }
  panels::BatchPanel& batch() { return *m_batch; }
  panels::TimelinePanel& timeline() { return *m_timeline; }
  panels::KnobsPanel& knobs() { return *m_knobs; }
  panels::TrafficPanel& traffic() { return *m_traffic; }
  panels::ReplayBar& replayBar() { return *m_replayBar; }
  panels::ReplayPanel& replayPanel() { return *m_replayPanel; }
  panels::HeaderBar& header() { return *m_header; }
  panels::LoadBar& loadBar() { return *m_loadBar; }
  ProgramDesk& desk() { return *m_desk; }

 signals:
  void preferencesChanged();

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void changeEvent(QEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void buildWidgets(const WindowParts& parts);
  void buildDocks(const WindowParts& parts);
  void layOutWidgets();
  void connectWidgets();
  void connectReplay();
  void toggleTable();
  QString whyNoRecording() const;
  void buildMenus();
  void buildViewMenu(class QMenu& menu);
  void arrange();
  void keepWhole();
  void showFigures();
  void showTitle();
  void onFrame(const bridge::Frame& frame);
  void showShortcuts();

  QSettings& m_settings;
  models::ChatStore& m_store;
  style::Theme& m_theme;
  bridge::EngineBridge m_bridge;
  bridge::Selection m_selection;
  models::RunRecord m_record;
  models::ModelLoader m_loader;
  models::Conversations m_conversations;
  engine::EngineHandle& m_engine;
  decltype(WindowParts::openRecording) m_openRecording;
  std::unique_ptr<engine::EngineHandle> m_recording;
  panels::Perspective m_perspective = panels::Perspective::Chat;
  panels::HeaderBar* m_header;
  panels::ChatListPanel* m_chatList;
  panels::ChatPanel* m_chatPanel;
  QWidget* m_cardColumn;
  panels::Card* m_chatCard;
  QStackedWidget* m_chatStack;  // the conversation, or a recorded one
  panels::ReplayPanel* m_replayPanel;
  panels::ReplayBar* m_replayBar;
  panels::Workbench* m_workbench;
  QHBoxLayout* m_middle;
  panels::AnswerCard* m_answerCard;
  panels::BlockMapPanel* m_blockMap;
  panels::BatchPanel* m_batch;
  panels::TimelinePanel* m_timeline;
  panels::KnobsPanel* m_knobs;
  panels::TrafficPanel* m_traffic;
  panels::Banner* m_banner;
  panels::LoadBar* m_loadBar;
  ProgramDesk* m_desk = nullptr;
  views::EngineStrip* m_strip;
  panels::StatusLine* m_status;
  panels::OpenModelDialog* m_openDialog = nullptr;
};

}  // namespace ui
