// A view's key: each mark with its meaning, in as many lines as its width asks for.
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

#include "ui/style/palette.h"

namespace ui::views {

enum class KeyMark { Words, Square, Bar, Frame, Hatch, Cross, Dot, Disc, Diamond, Ring };

struct KeyEntry {
  KeyMark mark = KeyMark::Words;  // Words: no mark, the text alone
  style::Role role = style::Role::MutedText;
  QString text;
};

// Ui thread only.
class KeyView : public QWidget {
  Q_OBJECT

 public:
  explicit KeyView(std::vector<KeyEntry> entries, QWidget* parent = nullptr);

  int numLines() const { return m_numLines; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Place {
    double left;
    int line;
  };

  void arrange();

  const std::vector<KeyEntry> m_entries;
  std::vector<Place> m_places;  // of each entry
  int m_numLines = 1;
};

}  // namespace ui::views
