#include "ui/panels/replay_bar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QSlider>
#include <QToolButton>
#include <algorithm>

#include "ui/bridge/engine_bridge.h"
#include "ui/models/run_record.h"
#include "ui/style/fonts.h"

namespace ui::panels {

namespace {

constexpr int kSliderSteps = 10'000;
constexpr double kSpeeds[] = {0.1, 0.25, 0.5, 1, 2, 5, 10, 50};

QString secondsText(std::int64_t ns) { return QLocale().toString(static_cast<double>(ns) / 1e9, 'f', 2); }

}  // namespace

ReplayBar::ReplayBar(bridge::EngineBridge& bridge, models::RunRecord& record, QWidget* parent)
    : QFrame(parent), m_bridge(bridge), m_record(record) {
  setProperty("role", "header");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 4, 12, 4);
  m_name = new QLabel;
  m_name->setProperty("role", "title");
  row->addWidget(m_name);
  m_back = addButton(QStringLiteral("❘◀"), tr("One iteration back"));
  m_play = addButton(QStringLiteral("▶"), tr("Play or pause the recording"));
  m_forward = addButton(QStringLiteral("▶❘"), tr("One iteration forward"));
  m_slider = new QSlider(Qt::Horizontal);
  m_slider->setRange(0, kSliderSteps);
  m_slider->setPageStep(kSliderSteps / 20);
  m_slider->setSingleStep(kSliderSteps / 200);
  m_slider->setAccessibleName(tr("Place in the recording"));
  row->addWidget(m_slider, 1);
  m_place = new QLabel;
  m_place->setFont(style::monoFont(12));
  m_place->setAccessibleName(tr("Time in the recording"));
  row->addWidget(m_place);
  m_speed = new QComboBox;
  m_speed->setProperty("role", "knob");
  m_speed->setAccessibleName(tr("Speed of the recording"));
  for (const double speed : kSpeeds) m_speed->addItem(tr("%1×").arg(speed), speed);
  m_speed->setCurrentIndex(3);
  row->addWidget(m_speed);
  m_close = addButton(tr("close recording"), tr("Back to the engine"));
  connect(m_back, &QToolButton::clicked, this, [this] { step(-1); });
  connect(m_play, &QToolButton::clicked, this, &ReplayBar::togglePlay);
  connect(m_forward, &QToolButton::clicked, this, [this] { step(1); });
  connect(m_close, &QToolButton::clicked, this, &ReplayBar::closeWanted);
  connect(m_slider, &QSlider::valueChanged, this, &ReplayBar::onSlider);
  connect(m_speed, &QComboBox::currentIndexChanged, this, [this] {
    if (auto* replay = m_bridge.replay()) replay->setSpeed(m_speed->currentData().toDouble());
  });
  connect(&m_bridge, &bridge::EngineBridge::frameReady, this, &ReplayBar::onFrame);
}

QToolButton* ReplayBar::addButton(const QString& text, const QString& name) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setToolTip(name);
  button->setAccessibleName(name);
  button->setProperty("role", "transport");
  layout()->addWidget(button);
  return button;
}

void ReplayBar::setName(const QString& name) {
  m_name->setText(tr("recorded run · %1").arg(name));
  m_speed->setCurrentIndex(3);
}

bool ReplayBar::isPlaying() const {
  const auto& live = m_bridge.liveSnapshot();
  return live && live->state != engine::EngineState::Paused;
}

void ReplayBar::togglePlay() {
  if (isPlaying()) m_bridge.send(engine::Pause{});
  else m_bridge.send(engine::Resume{});
  m_bridge.pull();
}

void ReplayBar::step(int direction) {
  auto* replay = m_bridge.replay();
  if (!replay) return;
  m_bridge.send(engine::Pause{});
  if (direction > 0) {
    m_bridge.send(engine::StepOnce{1});
    return m_bridge.pull();
  }
  const std::int64_t now = replay->positionNs();
  const auto& steps = m_record.steps().columns();
  const auto end = [](const models::StepColumn& column) { return column.iteration.t1Ns; };
  // the last that ended before the one whose end is shown
  auto at = std::ranges::lower_bound(steps, now, {}, end);
  m_bridge.seekReplay(at == steps.begin() ? replay->beginNs() : end(*--at));
}

void ReplayBar::onSlider(int value) {
  auto* replay = m_bridge.replay();
  if (m_isShowing || !replay) return;
  const double share = static_cast<double>(value) / kSliderSteps;
  m_bridge.seekReplay(replay->beginNs() +
                      static_cast<std::int64_t>(share * static_cast<double>(replay->endNs() - replay->beginNs())));
}

void ReplayBar::onFrame(const bridge::Frame&) {
  auto* replay = m_bridge.replay();
  if (!replay || !isVisible()) return;
  const std::int64_t begin = replay->beginNs(), length = std::max<std::int64_t>(1, replay->endNs() - begin);
  const std::int64_t at = replay->positionNs() - begin;
  m_isShowing = true;
  if (!m_slider->isSliderDown()) {
    m_slider->setValue(static_cast<int>(static_cast<double>(at) * kSliderSteps / static_cast<double>(length)));
  }
  m_isShowing = false;
  m_place->setText(tr("%1 of %2 s").arg(secondsText(at), secondsText(length)));
  m_play->setText(isPlaying() ? QStringLiteral("❚❚") : QStringLiteral("▶"));
}

}  // namespace ui::panels
