#include "ui/panels/transport_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QSizePolicy>
#include <QToolButton>

#include "ui/style/fonts.h"
#include "ui/style/format.h"

namespace ui::panels {

TransportBar::TransportBar(bridge::EngineBridge& bridge, QWidget* parent) : QWidget(parent), m_bridge(bridge) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  m_pause = addButton(tr("❚❚ pause"), tr("Pause or resume the engine (F8)"));
  m_pause->setCheckable(true);
  m_step = addButton(tr("▶❘ 1"), tr("One iteration of the paused engine (F10)"));
  m_step10 = addButton(tr("▶❘ 10"), tr("Ten iterations of the paused engine (Shift+F10)"));
  m_live = addButton(tr("⟳ live"), tr("Hold the view still or follow the engine (F9)"));
  m_live->setCheckable(true);
  m_live->setChecked(true);
  m_place = new QLabel(this);
  m_place->setFont(style::monoFont(12));
  m_place->setAccessibleName(tr("Iteration and time"));
  layout->addWidget(m_place);
  connect(m_pause, &QToolButton::clicked, this, &TransportBar::toggleEngine);
  connect(m_step, &QToolButton::clicked, this, [this] { step(1); });
  connect(m_step10, &QToolButton::clicked, this, [this] { step(10); });
  connect(m_live, &QToolButton::clicked, this, &TransportBar::toggleView);
  connect(&bridge, &bridge::EngineBridge::frameReady, this, &TransportBar::onFrame);
  connect(&bridge, &bridge::EngineBridge::viewPausedChanged, this, [this](bool paused) { m_live->setChecked(!paused); });
  m_step->setEnabled(false);
  m_step10->setEnabled(false);
}

QToolButton* TransportBar::addButton(const QString& text, const QString& name) {
  auto* button = new QToolButton(this);
  button->setText(text);
  button->setProperty("role", "transport");
  button->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  button->setAccessibleName(name);
  button->setToolTip(name);
  layout()->addWidget(button);
  return button;
}

bool TransportBar::isEnginePaused() const {
  const auto& live = m_bridge.liveSnapshot();
  return live && live->state == engine::EngineState::Paused;
}

void TransportBar::toggleEngine() {
  if (isEnginePaused()) m_bridge.send(engine::Resume{});
  else m_bridge.send(engine::Pause{});
}

void TransportBar::step(int count) {
  if (isEnginePaused()) m_bridge.send(engine::StepOnce{count});
}

void TransportBar::toggleView() {
  m_bridge.setViewPaused(!m_bridge.isViewPaused());
  m_live->setChecked(!m_bridge.isViewPaused());
}

void TransportBar::onFrame(const bridge::Frame& frame) {
  const bool isPaused = isEnginePaused();
  m_pause->setChecked(isPaused);
  m_pause->setText(isPaused ? tr("▶ resume") : tr("❚❚ pause"));
  m_step->setEnabled(isPaused);
  m_step10->setEnabled(isPaused);
  if (isVisible() && frame.isSnapshotNew) showPlace();
}

void TransportBar::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  showPlace();
}

void TransportBar::setPlaceVisible(bool visible) { m_place->setVisible(visible); }

int TransportBar::placeWidth() const {
  return m_place->isHidden() ? 0 : m_place->minimumWidth() + layout()->spacing();
}

void TransportBar::showPlace() {
  const auto& snapshot = m_bridge.snapshot();
  if (!snapshot) return;
  const auto& step = snapshot->lastStep;
  m_place->setText(step.id.isNone()
                       ? QString()
                       : tr("iteration %1   t = %2 s")
                             .arg(style::formatCount(qint64(step.id.value)),
                                  QLocale().toString(double(step.t1Ns) / 1e9, 'f', 3)));
  const int width = m_place->sizeHint().width();
  if (width <= m_place->minimumWidth()) return;
  m_place->setMinimumWidth(width);  // it only grows, so that its neighbours stand still
  emit placeWidened();
}

}  // namespace ui::panels
