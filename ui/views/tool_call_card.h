// A tool that the model wants called: its name, its arguments, and a way to send the result back.
#pragma once

#include <QFrame>

#include "ui/models/answer_parts.h"

class QLabel;
class QToolButton;

namespace ui::views {

class MessageText;

// Ui thread only. What is no call that can be read is shown as it was written, and says so.
class ToolCallCard : public QFrame {
  Q_OBJECT

 public:
  explicit ToolCallCard(QWidget* parent = nullptr);

  // `isWhole`: the model has closed the call.
  void setCall(const QString& json, bool isWhole);
  int heightFor(int width);
  void refreshColors();

  QString title() const;
  QString body() const;
  QToolButton& resultButton() { return *m_result; }

 signals:
  // The user has the result and wants to type it.
  void resultWanted(const QString& toolName);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QLabel* m_title;
  QToolButton *m_copy, *m_result;
  MessageText* m_body;
  QString m_json, m_name;
  bool m_isWhole = false;
};

}  // namespace ui::views
