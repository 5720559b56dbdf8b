// The window's last line: what was saved, what the engine does, and what the window itself costs.
#pragma once

#include <QWidget>

#include "ui/bridge/engine_bridge.h"
#include "ui/models/conversations.h"

class QLabel;

namespace ui::panels {

// Ui thread only. Changes once a second.
class StatusLine : public QWidget {
  Q_OBJECT

 public:
  // Both must outlive the line.
  StatusLine(bridge::EngineBridge& bridge, models::Conversations& conversations, QWidget* parent = nullptr);

  // For some seconds in the place of the usual text.
  void showMessage(const QString& sentence);
  void refresh();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString engineText() const;

  bridge::EngineBridge& m_bridge;
  models::Conversations& m_conversations;
  QLabel *m_left, *m_right;
  QString m_message;
  int m_messageSeconds = 0;
};

}  // namespace ui::panels
