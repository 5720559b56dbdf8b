// Pictures of everything the window can show, for eyes: views behind tabs, tables, dialogs, a recording,
// large text, a small window, and what is seen without a model.
#pragma once

#include <QCoreApplication>
#include <QSize>
#include <QString>
#include <functional>

#include "ui/main_window.h"

namespace app::window {

// Ui thread only. Runs events itself while it waits for layouts. Goes through the same controls as a person.
class PictureTour {
  Q_DECLARE_TR_FUNCTIONS(PictureTour)

 public:
  // Both must outlive this. `folder` exists. `patience`: of the usual wait for layouts.
  PictureTour(ui::MainWindow& window, ui::style::Theme& theme, const QString& folder, double patience = 1.0);

  // The three perspectives at a size.
  void takePerspectives(const QSize& size);
  // All else that a model and its answers are needed for; best while the engine is paused.
  void takeViews();
  // The recorded run that ships, then the window without a model, which it closes; no answer may be under way.
  void takeRest();

  // What could not be written; empty when all was.
  const QString& failure() const { return m_failure; }

 private:
  void settle(int ms) const;
  // Light and dark, as NAME-light.png and NAME-dark.png.
  void take(QWidget& widget, const QString& name, int settleMs = 150);
  void takeWindow(const QString& name, int settleMs = 150) { take(m_window, name, settleMs); }
  void takeBehindTabs(ui::panels::Perspective perspective, const QString& name, const QStringList& docks);
  void takeTables(ui::panels::Perspective perspective, const QString& name);
  void takeAll(const QString& name);
  void takeDialogs();
  // The dialog that `open` opens.
  void takeDialog(const QString& name, const std::function<void()>& open, int settleMs = 250);

  ui::MainWindow& m_window;
  ui::style::Theme& m_theme;
  const QString m_folder;
  const double m_patience;
  QString m_failure;
};

}  // namespace app::window
