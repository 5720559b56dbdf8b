// The window: header, chats, conversation, the Teach and Tune views, status. No engine knowledge of its own.
#pragma once

#include <QMainWindow>
#include <QSettings>

#include "ui/bridge/engine_bridge.h"
#include "ui/bridge/selection.h"
#include "ui/models/conversations.h"
#include "ui/models/model_loader.h"
#include "ui/panels/header_bar.h"
#include "ui/style/theme.h"

class QHBoxLayout;
class QLabel;
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
class TeachPanel;
class TunePanel;
}  // namespace panels

// What the window stands on; all must outlive it.
struct WindowParts {
  engine::EngineHandle& engine;
  models::ChatStore& store;
  QSettings& settings;
  style::Theme& theme;
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

  bridge::EngineBridge& engineBridge() { return m_bridge; }
  bridge::Selection& selection() { return m_selection; }
  models::Conversations& conversations() { return m_conversations; }
  models::ModelLoader& loader() { return m_loader; }
  panels::ChatPanel& chatPanel() { return *m_chatPanel; }
  panels::ChatListPanel& chatList() { return *m_chatList; }
  panels::Banner& banner() { return *m_banner; }
  panels::TeachPanel& teachPanel() { return *m_teach; }
  panels::TunePanel& tunePanel() { return *m_tune; }
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
  void buildWidgets();
  void layOutWidgets();
  void connectWidgets();
  void buildMenus();
  void buildViewMenu(class QMenu& menu);
  void arrange();
  void showFigures();
  void showTitle();
  void onFrame(const bridge::Frame& frame);
  void showShortcuts();

  QSettings& m_settings;
  models::ChatStore& m_store;
  style::Theme& m_theme;
  bridge::EngineBridge m_bridge;
  bridge::Selection m_selection;
  models::ModelLoader m_loader;
  models::Conversations m_conversations;
  panels::Perspective m_perspective = panels::Perspective::Chat;
  panels::HeaderBar* m_header;
  panels::ChatListPanel* m_chatList;
  panels::ChatPanel* m_chatPanel;
  QWidget* m_cardColumn;
  QFrame* m_chatFrame;
  QLabel* m_chatTitle;
  QHBoxLayout* m_middle;
  QVBoxLayout* m_chatColumn;
  panels::AnswerCard* m_answerCard;
  panels::TeachPanel* m_teach;
  panels::TunePanel* m_tune;
  panels::Banner* m_banner;
  panels::LoadBar* m_loadBar;
  ProgramDesk* m_desk = nullptr;
  views::EngineStrip* m_strip;
  panels::StatusLine* m_status;
  panels::OpenModelDialog* m_openDialog = nullptr;
};

}  // namespace ui
