// How full the model's context is: the conversation, the draft being typed, what is left.
#pragma once

#include <QWidget>
#include <algorithm>

namespace ui::views {

class ContextGauge : public QWidget {
  Q_OBJECT

 public:
  explicit ContextGauge(QWidget* parent = nullptr);

  // Tokens; -1 = not known yet. `capacity` 0 = no model.
  void setTokens(qint64 conversation, qint64 draft, qint64 capacity);
  // More than the context holds, the draft included.
  bool isOverfull() const { return m_capacity > 0 && m_conversation + m_draft > m_capacity; }
  QString caption() const;

  QSize sizeHint() const override { return {std::max(200, minimumSizeHint().width()), minimumSizeHint().height()}; }
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  qint64 m_conversation = -1, m_draft = 0, m_capacity = 0;
};

}  // namespace ui::views
