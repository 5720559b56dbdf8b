// The thinking of an answer, folded: one line says how much there is, a click shows it.
#pragma once

#include <QWidget>

class QToolButton;

namespace ui::views {

class MessageText;

// Holds no document while folded. Ui thread only.
class ThoughtFold : public QWidget {
  Q_OBJECT

 public:
  explicit ThoughtFold(QWidget* parent = nullptr);

  void setText(const QString& text);
  void append(const QString& delta);
  // Whether the model still thinks.
  void setThinking(bool thinking);
  void setUnfolded(bool unfolded);
  bool isUnfolded() const { return m_shown != nullptr; }
  int heightFor(int width);
  void refreshColors();
  QToolButton& button() { return *m_button; }
  MessageText* shownText() { return m_shown; }

 signals:
  void foldChanged(bool unfolded);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void countWords(const QString& delta);
  void showTitle();

  QToolButton* m_button;
  MessageText* m_shown = nullptr;  // while unfolded
  QString m_text;
  int m_words = 0;
  bool m_isThinking = false, m_isInWord = false;
};

}  // namespace ui::views
