// Where a question is typed: Enter sends, Shift+Enter breaks the line, input methods are left alone.
#pragma once

#include <QFrame>
#include <QPlainTextEdit>

class QLabel;
class QPushButton;
class QToolButton;

namespace ui::views {
class ContextGauge;
}

namespace ui::panels {

// Knows whether an input method is composing.
class ComposerEdit : public QPlainTextEdit {
  Q_OBJECT

 public:
  using QPlainTextEdit::QPlainTextEdit;
  bool isComposing() const { return m_isComposing; }

 signals:
  void sendPressed();
  void cancelPressed();

 protected:
  bool event(QEvent* event) override;
  void inputMethodEvent(QInputMethodEvent* event) override;
  // Files are opened by the window, not typed.
  bool canInsertFromMimeData(const QMimeData* source) const override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  bool m_isComposing = false;
};

// Ui thread only.
class Composer : public QFrame {
  Q_OBJECT

 public:
  explicit Composer(QWidget* parent = nullptr);

  QString text() const;
  void setText(const QString& text);
  // A non-empty sentence stands above the text until the next send or edit.
  void setError(const QString& sentence);
  QString error() const;
  // A hint above the text ("Asking again at this place; Esc keeps the old question").
  void setHint(const QString& hint);
  void setAnswering(bool answering);
  void setSettingsText(const QString& text);
  void setCompact(bool compact);
  views::ContextGauge& gauge() { return *m_gauge; }
  ComposerEdit& edit() { return *m_edit; }

 signals:
  void sendWanted();
  void stopWanted();
  void cancelWanted();
  void textEdited(const QString& text);
  void settingsWanted();
  void systemPromptWanted();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void buildWidgets();
  void layOutWidgets();
  void fitRow();
  void connectWidgets();
  void fitHeight();

  ComposerEdit* m_edit = nullptr;
  QLabel *m_error, *m_hint;
  QToolButton *m_system, *m_settings;
  views::ContextGauge* m_gauge;
  QPushButton *m_send, *m_stop;
  bool m_isAnswering = false, m_isCompact = false;
};

}  // namespace ui::panels
