// Recorded runs in the main window: opening, playing, and back to the engine.
#include <QFileInfo>
#include <QStackedWidget>

#include "ui/main_window.h"
#include "ui/panels/banner.h"
#include "ui/panels/replay_bar.h"
#include "ui/panels/replay_panel.h"
#include "ui/panels/traffic_panel.h"

namespace ui {

void MainWindow::connectReplay() {
  connect(m_replayBar, &panels::ReplayBar::closeWanted, this, &MainWindow::closeRecording);
  connect(&m_loader, &models::ModelLoader::aboutToLoad, this, &MainWindow::closeRecording);
}

// The engine's answers and the recording's would be mixed up.
QString MainWindow::whyNoRecording() const {
  if (!m_openRecording) return tr("This window plays no recordings.");
  if (m_loader.isLoading()) return tr("A model is being loaded; wait or cancel, then open the recording.");
  if (m_conversations.numStreaming() > 0) {
    return tr("%n answer(s) are still being written; wait or stop, then open the recording.", nullptr, m_conversations.numStreaming());
  }
  if (m_traffic->run().isRunning()) return tr("Traffic is running; stop it, then open the recording.");
  return {};
}

void MainWindow::openRecording(const QString& path) {
  if (const QString why = whyNoRecording(); !why.isEmpty()) return m_banner->add(why);
  auto opened = m_openRecording(path);
  if (!opened) return m_banner->add(QString::fromStdString(opened.error().message));
  m_banner->clear();
  m_selection.clearHover();
  m_selection.clearPins();
  m_selection.setTimeRange(std::nullopt);
  auto before = std::exchange(m_recording, std::move(*opened));
  m_replayBar->setName(path.isEmpty() ? tr("comes with Tessera") : QFileInfo(path).fileName());
  m_replayBar->show();
  m_chatStack->setCurrentWidget(m_replayPanel);
  m_bridge.showEngine(*m_recording);
  if (m_perspective == panels::Perspective::Chat) setPerspective(panels::Perspective::Teach);
  arrange();
}

void MainWindow::closeRecording() {
  if (!m_recording) return;
  m_replayBar->hide();
  m_chatStack->setCurrentIndex(0);
  m_selection.clearHover();
  m_selection.clearPins();
  m_selection.setTimeRange(std::nullopt);
  m_bridge.showEngine(m_engine);
  m_recording.reset();
  arrange();
}

}  // namespace ui
