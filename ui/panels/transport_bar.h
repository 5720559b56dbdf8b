// Pause and step the engine; hold the view still; where the engine is.
#pragma once

#include <QWidget>

#include "ui/bridge/engine_bridge.h"

class QLabel;
class QToolButton;

namespace ui::panels {

// Ui thread only. Pausing the engine and pausing the view are two buttons.
class TransportBar : public QWidget {
  Q_OBJECT

 public:
  // `bridge` must outlive the bar.
  explicit TransportBar(bridge::EngineBridge& bridge, QWidget* parent = nullptr);

  bool isEnginePaused() const;
  // Iteration and time, for which a narrow header has no room.
  void setPlaceVisible(bool visible);
  // Px that it takes now.
  int placeWidth() const;

 public slots:
  void toggleEngine();
  void step(int count);
  void toggleView();

 signals:
  void placeWidened();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void showPlace();
  QToolButton* addButton(const QString& text, const QString& name);
  void onFrame(const bridge::Frame& frame);

  bridge::EngineBridge& m_bridge;
  QToolButton *m_pause, *m_step, *m_step10, *m_live;
  QLabel* m_place;
};

}  // namespace ui::panels
