// Plays several conversations in the window by itself: prints one answer, takes pictures, ends.
#pragma once

#include <QObject>
#include <QTimer>

#include "app/window/picture_tour.h"
#include "app/window/window_options.h"
#include "ui/main_window.h"

namespace app::window {

// Ui thread only. Goes through the same controls as a person.
class ScriptedChat : public QObject {
  Q_OBJECT

 public:
  // All must outlive this.
  ScriptedChat(ui::MainWindow& window, ui::style::Theme& theme, const WindowOptions& options, QObject* parent);

  void start();

 signals:
  // 0, or 1 after a sentence on standard error.
  void ended(int exitCode);

 private:
  void askAll();
  void ask(const QString& question, int maxTokens);
  void onText(qint64 chatId, const QString& delta);
  void onFinished(qint64 chatId, qint64 messageId);
  void takePictures();
  void finishIfDone();
  void fail(const QString& sentence);

  ui::MainWindow& m_window;
  WindowOptions m_options;
  PictureTour m_tour;
  QTimer m_deadline;
  qint64 m_shownChat = 0;
  int m_numAsked = 0, m_numFinished = 0;
  bool m_hasPictures = false, m_hasTurned = false, m_isOver = false;
};

}  // namespace app::window
