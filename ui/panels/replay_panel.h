// The conversation pane of a recorded run: what a request asked, and its answer as far as it has played.
#pragma once

#include <QWidget>

#include "ui/bridge/selection.h"
#include "ui/models/replay_texts.h"

class QComboBox;
class QPlainTextEdit;

namespace ui::bridge {
class EngineBridge;
}

namespace ui::panels {

// Ui thread only. Shows the request that is selected anywhere, else the newest.
class ReplayPanel : public QWidget {
  Q_OBJECT

 public:
  // Both must outlive the panel.
  ReplayPanel(bridge::EngineBridge& bridge, bridge::Selection& selection, QWidget* parent = nullptr);

  QString shownText() const;
  const models::ReplayTexts& texts() const { return m_texts; }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void onFrame(const bridge::Frame& frame);
  void showTexts();
  QString describe(const models::ReplayText& text) const;

  bridge::EngineBridge& m_bridge;
  bridge::Selection& m_selection;
  models::ReplayTexts m_texts;
  QComboBox* m_request;
  QPlainTextEdit* m_text;
};

}  // namespace ui::panels
