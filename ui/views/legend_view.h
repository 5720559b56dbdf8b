// The block map's key: a hue for each request in focus, and the marks with their meaning.
#pragma once

#include <QStringList>
#include <QWidget>
#include <memory>
#include <vector>

#include "engine/api/snapshot.h"
#include "ui/models/request_hues.h"

namespace ui::views {

class LegendView : public QWidget {
  Q_OBJECT

 public:
  explicit LegendView(QWidget* parent = nullptr);

  void setRequests(const std::shared_ptr<const engine::EngineSnapshot>& snapshot,
                   const models::RequestHues& hues);

  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Entry {
    QString text;
    int hue;  // -1: the others' grey
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  static QStringList markTexts();
  void fitLines();
  double paintMarks(QPainter& painter) const;

  std::vector<Entry> m_entries;
  int m_numLines = 1;
};

}  // namespace ui::views
