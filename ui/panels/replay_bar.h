// Where a recorded run is, how fast it plays, and both directions.
#pragma once

#include <QFrame>
#include <cstdint>

class QComboBox;
class QLabel;
class QSlider;
class QToolButton;

namespace ui::bridge {
class EngineBridge;
struct Frame;
}  // namespace ui::bridge
namespace ui::models {
class RunRecord;
}

namespace ui::panels {

// Ui thread only. Shown while a recorded run is looked at.
class ReplayBar : public QFrame {
  Q_OBJECT

 public:
  // Both must outlive the bar.
  ReplayBar(bridge::EngineBridge& bridge, models::RunRecord& record, QWidget* parent = nullptr);

  // Of the recording that is opened now.
  void setName(const QString& name);
  QSlider& slider() { return *m_slider; }
  QComboBox& speeds() { return *m_speed; }

 public slots:
  void togglePlay();
  // The iteration before, or after, the one that is shown.
  void step(int direction);

 signals:
  void closeWanted();

 private:
  QToolButton* addButton(const QString& text, const QString& name);
  void onFrame(const bridge::Frame& frame);
  void onSlider(int value);
  bool isPlaying() const;

  bridge::EngineBridge& m_bridge;
  models::RunRecord& m_record;
  QToolButton *m_back, *m_play, *m_forward;
  QSlider* m_slider;
  QLabel *m_place, *m_name;
  QComboBox* m_speed;
  QToolButton* m_close;
  bool m_isShowing = false;  // the slider is moved by the run, not by a hand
};

}  // namespace ui::panels
