// Lines of a tag and a sentence, painted; hovering one selects its request.
#pragma once

#include <QWidget>
#include <vector>

#include "ui/models/batch_explanation.h"

namespace ui::bridge {
class Selection;
}

namespace ui::panels {

class ExplanationList : public QWidget {
  Q_OBJECT

 public:
  explicit ExplanationList(bridge::Selection& selection, QWidget* parent = nullptr);

  void setLines(std::vector<models::ExplanationLine> lines);
  // How many lines the present height holds.
  int capacity() const;
  QSize sizeHint() const override { return {300, 180}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  int lineAt(double y) const;

  bridge::Selection& m_selection;
  std::vector<models::ExplanationLine> m_lines;
};

}  // namespace ui::panels
