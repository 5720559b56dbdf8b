// A model that is being loaded: how far, in bytes and by stage, and a way to give it up.
#pragma once

#include <QElapsedTimer>
#include <QFrame>

#include "ui/models/model_loader.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace ui::panels {

// Shows itself while something loads. Ui thread only.
class LoadBar : public QFrame {
  Q_OBJECT

 public:
  // `loader` must outlive this.
  explicit LoadBar(models::ModelLoader& loader, QWidget* parent = nullptr);

  // "reading the file", "packing weights · 41 MB of 92 MB · 45 %".
  QString stageText() const;
  QPushButton& cancelButton() { return *m_cancel; }
  QProgressBar& progress() { return *m_progress; }

 private:
  void refresh();

  models::ModelLoader& m_loader;
  QElapsedTimer m_clock;
  QLabel *m_name, *m_stage;
  QProgressBar* m_progress;
  QPushButton* m_cancel;
};

}  // namespace ui::panels
