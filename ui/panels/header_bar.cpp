#include "ui/panels/header_bar.h"

#include <QButtonGroup>
#include <QEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenuBar>
#include <QPushButton>
#include <QToolButton>

#include "ui/panels/transport_bar.h"
#include "ui/style/fonts.h"
#include "ui/style/format.h"
#include "ui/style/metrics.h"

namespace ui::panels {

namespace {

// Of the header, px at the usual text size.
constexpr int kNameNeedsWidth = 1030, kPlaceNeedsWidth = 1240, kDeviceNeedsWidth = 1360, kKvNeedsWidth = 1560;
constexpr int kNarrowName = 130, kWideName = 260;  // of the model, px

}  // namespace

HeaderBar::HeaderBar(bridge::EngineBridge& bridge, models::ModelLoader& loader, QWidget* parent)
    : QFrame(parent), m_bridge(bridge), m_loader(loader) {
  setProperty("role", "header");
  setFixedHeight(style::kHeaderHeight);
  buildWidgets();
  layOutWidgets();
  connectWidgets();
  showModel();
}

void HeaderBar::buildWidgets() {
  m_menuBar = new QMenuBar(this);
  m_menuBar->setNativeMenuBar(false);
  m_menuBar->setSizePolicy(QSizePolicy::Minimum, QSizePolicy::Fixed);
  m_transport = new TransportBar(m_bridge, this);
  m_transport->hide();
  const auto chip = [this](const QString& name) {
    auto* button = new QPushButton(this);
    button->setProperty("role", "chip");
    button->setAccessibleName(name);
    return button;
  };
  m_model = chip(tr("Model"));
  m_device = chip(tr("What runs the model"));
  m_kv = chip(tr("KV cache"));
  const auto perspective = [this](const QString& text, const QString& keys) {
    auto* button = new QToolButton(this);
    button->setText(text);
    button->setToolTip(tr("%1 (%2)").arg(text, keys));
    button->setAccessibleName(tr("%1 perspective").arg(text));
    button->setProperty("role", "perspective");
    button->setCheckable(true);
    return button;
  };
  m_chat = perspective(tr("Chat"), QStringLiteral("Alt+1"));
  m_teach = perspective(tr("Teach"), QStringLiteral("Alt+2"));
  m_tune = perspective(tr("Tune"), QStringLiteral("Alt+3"));
  m_chat->setChecked(true);
}

void HeaderBar::layOutWidgets() {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(14, 0, 14, 0);
  layout->setSpacing(6);
  auto* brand = new QLabel(tr("Tessera"), this);
  brand->setProperty("role", "brand");
  layout->addWidget(brand);
  layout->addSpacing(6);
  layout->addWidget(m_menuBar);
  layout->addSpacing(12);
  layout->addWidget(m_transport);
  layout->addStretch(1);
  for (QPushButton* button : {m_model, m_device, m_kv}) layout->addWidget(button);
  layout->addSpacing(10);
  auto* segment = new QFrame(this);
  segment->setProperty("role", "segment");
  segment->setFixedHeight(28);
  auto* row = new QHBoxLayout(segment);
  row->setContentsMargins(2, 1, 2, 1);
  row->setSpacing(0);
  row->addWidget(m_chat);
  row->addWidget(m_teach);
  row->addWidget(m_tune);
  layout->addWidget(segment);
}

void HeaderBar::connectWidgets() {
  auto* group = new QButtonGroup(this);
  group->addButton(m_chat);
  group->addButton(m_teach);
  group->addButton(m_tune);
  connect(m_chat, &QToolButton::clicked, this, [this] { emit perspectiveWanted(Perspective::Chat); });
  connect(m_teach, &QToolButton::clicked, this, [this] { emit perspectiveWanted(Perspective::Teach); });
  connect(m_tune, &QToolButton::clicked, this, [this] { emit perspectiveWanted(Perspective::Tune); });
  for (QPushButton* button : {m_model, m_device, m_kv}) {
    connect(button, &QPushButton::clicked, this, &HeaderBar::openModelWanted);
  }
  for (auto signal : {&models::ModelLoader::progressed, &models::ModelLoader::loaded, &models::ModelLoader::unloaded,
                      &models::ModelLoader::cancelled}) {
    connect(&m_loader, signal, this, &HeaderBar::showModel);
  }
  connect(&m_loader, &models::ModelLoader::failed, this, &HeaderBar::showModel);
  connect(m_transport, &TransportBar::placeWidened, this, &HeaderBar::showModel);
  connect(&m_bridge, &bridge::EngineBridge::frameReady, this, [this, shown = std::shared_ptr<const engine::ModelInfo>()](
                                                                  const bridge::Frame& frame) mutable {
    if (!frame.liveSnapshot || frame.liveSnapshot->model == shown) return;
    shown = frame.liveSnapshot->model;
    showModel();
  });
}

void HeaderBar::setPerspective(Perspective perspective) {
  m_perspective = perspective;
  m_chat->setChecked(perspective == Perspective::Chat);
  m_teach->setChecked(perspective == Perspective::Teach);
  m_tune->setChecked(perspective == Perspective::Tune);
  m_transport->setVisible(perspective != Perspective::Chat);
  showModel();
}

void HeaderBar::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  showModel();
}

void HeaderBar::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::FontChange) showModel();
}

int HeaderBar::leastWidth() const {
  int least = minimumSizeHint().width();
  if (m_perspective == Perspective::Chat) return least;
  for (const QWidget* spare : {m_model, m_device, m_kv}) {
    if (!spare->isHidden()) least -= spare->minimumSizeHint().width() + layout()->spacing();
  }
  return least - m_transport->placeWidth();
}

bool HeaderBar::hasRoom(int pixels) const { return width() >= pixels * style::textScale(); }

void HeaderBar::showModel() {
  // the transport needs the room in a narrow window
  m_transport->setPlaceVisible(hasRoom(kPlaceNeedsWidth));
  m_model->setVisible(m_perspective == Perspective::Chat || hasRoom(kNameNeedsWidth));
  if (m_loader.isLoading()) {
    const QString file = QFileInfo(m_loader.loadingPath()).fileName();
    m_model->setText(tr("loading %1").arg(m_model->fontMetrics().elidedText(file, Qt::ElideMiddle, kWideName)));
    m_device->hide();
    m_kv->hide();
    return;
  }
  const auto& live = m_bridge.liveSnapshot();
  if (!live || !live->model) {
    m_model->setText(tr("Open a model…"));
    m_device->hide();
    m_kv->hide();
    return;
  }
  const auto& info = *live->model;
  const bool hasTransport = m_perspective != Perspective::Chat;
  const int room = hasTransport && !hasRoom(kDeviceNeedsWidth) ? kNarrowName : kWideName;
  QString name = QString::fromStdString(info.name);
  const QString quantisation = QString::fromStdString(info.quantisation);
  if (!name.contains(quantisation, Qt::CaseInsensitive)) name += QStringLiteral(" · ") + quantisation;
  m_model->setText(m_model->fontMetrics().elidedText(name, Qt::ElideMiddle, room) +
                   (info.chatNote.empty() ? QStringLiteral(" ▾") : QStringLiteral(" ! ▾")));
  m_model->setToolTip((QString::fromStdString(info.path) + QLatin1Char('\n') + QString::fromStdString(info.chatNote)).trimmed());
  QString device = tr("%1 · %n thread(s)", nullptr, info.threads).arg(QString::fromStdString(info.backend));
  if (m_perspective != Perspective::Chat || !info.isaNote.empty()) {
    device += QStringLiteral(" · ") + QString::fromStdString(info.isa);
  }
  if (!info.isaNote.empty()) device += QStringLiteral(" !");
  m_device->setText(device);
  m_device->setToolTip(info.isaNote.empty() ? QString::fromStdString(info.isa) : QString::fromStdString(info.isaNote));
  m_device->setVisible(!hasTransport || hasRoom(kDeviceNeedsWidth));
  m_kv->setVisible(hasTransport && hasRoom(kKvNeedsWidth) && live->pool.has_value());
  if (live->pool) {
    m_kv->setText(tr("KV %1 · %n-token blocks", nullptr, live->pool->blockSize)
                      .arg(QString::fromLatin1(engine::kvDTypeName(info.kvDtype))));
  }
  hideWhatIsTooWide();
}

// Recipes and clocks have names of any length; a chip less is better than a clock cut short.
void HeaderBar::hideWhatIsTooWide() {
  if (m_perspective == Perspective::Chat) return;
  for (QWidget* chip : {m_kv, m_device}) {
    if (minimumSizeHint().width() <= width()) return;
    chip->hide();
  }
}

}  // namespace ui::panels
