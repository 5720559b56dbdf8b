#include "ui/views/block_map_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "engine/api/reason.h"
#include "ui/bridge/selection.h"
#include "ui/style/fonts.h"
#include "ui/style/format.h"
#include "ui/style/theme.h"

namespace ui::views {

using style::Role;

namespace {

// Below this many pixels a cell is one colour: fill height, hatch and dot would only be noise.
constexpr double kDetailCell = 7.0;

QColor mix(const QColor& a, const QColor& b, double share) { return style::blend(a, b, share); }

// Steps as age: fresh is strong, 200 steps ago is faint.
double ageShare(std::uint64_t now, std::uint64_t then) {
  const double age = now > then ? static_cast<double>(now - then) : 0.0;
  return std::clamp(1.0 - age / 200.0, 0.12, 1.0);
}

}  // namespace

BlockMapView::BlockMapView(bridge::Selection& selection,
                           const models::RequestHues& hues,
                           QWidget* parent)
    : QWidget(parent), m_selection(selection), m_hues(hues) {
  setMouseTracking(true);
  setAttribute(Qt::WA_OpaquePaintEvent);  // in its card's colour: nothing beneath is painted for it
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("KV block map"));
  setAccessibleDescription(tr("One cell for each block of the KV cache; arrow keys move over blocks"));
  connect(&m_selection, &bridge::Selection::changed, this, qOverload<>(&QWidget::update));
}

void BlockMapView::setSnapshot(std::shared_ptr<const engine::EngineSnapshot> snapshot) {
  m_snapshot = std::move(snapshot);
  invalidate();
}

void BlockMapView::setColouring(BlockColouring colouring) {
  m_colouring = colouring;
  invalidate();
}

void BlockMapView::setOrder(models::BlockOrder order) {
  m_order = order;
  invalidate();
}

void BlockMapView::invalidate() {
  m_isDirty = true;
  update();
}

void BlockMapView::arrange() {
  if (!m_snapshot) {
    m_arrangement = {};
  } else if (m_order == models::BlockOrder::Physical) {
    m_arrangement = models::BlockArrangement::physical(*m_snapshot, size(), devicePixelRatioF());
  } else {
    m_arrangement = models::BlockArrangement::logical(*m_snapshot, size());
  }
}

const engine::BlockSnapshot* BlockMapView::blockAt(int index) const {
  if (!m_snapshot || index < 0 || index >= static_cast<int>(m_snapshot->blocks.size())) return nullptr;
  return &m_snapshot->blocks[static_cast<std::size_t>(index)];
}

QColor BlockMapView::cellColour(const engine::BlockSnapshot& block) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const int hue = m_hues.hueOf(block.owner);
  const QColor owner = hue < 0 ? palette.color(Role::OtherRequests)
                               : palette.requestHue(static_cast<std::uint64_t>(hue));
  switch (m_colouring) {
    case BlockColouring::Owner: return owner;
    case BlockColouring::References: {
      const double share = std::clamp(0.35 + 0.2 * (block.refCount - 1), 0.2, 1.0);
      return mix(palette.color(Role::Accepted), palette.color(Role::Free), share);
    }
    case BlockColouring::Age: {
      const double share = ageShare(m_snapshot->lastStep.id.value, block.lastUsedStep);
      return mix(palette.color(Role::Prefill), palette.color(Role::Free), share);
    }
    case BlockColouring::Prefix:
      return block.hash == 0 ? mix(palette.color(Role::OtherRequests), palette.color(Role::Free), 0.5)
                             : palette.requestHue(block.hash >> 7);
  }
  return owner;
}

void BlockMapView::paintCell(QPainter& painter, const models::BlockCell& cell) const {
  const engine::BlockSnapshot* block = blockAt(cell.block);
  if (!block) return;
  const style::Palette& palette = style::paletteOf(this->palette());
  const bool isDetailed = m_arrangement.cell >= kDetailCell;
  const double ratio = devicePixelRatioF();
  const double gap = isDetailed ? std::round(ratio) / ratio : 0.5;
  const QRectF box = cell.rect.adjusted(0, 0, -gap, -gap);
  const QColor empty = palette.color(Role::Free);
  if (block->state == engine::BlockState::Free) {
    painter.fillRect(box, empty);
    return;
  }
  const QColor colour = cellColour(*block);
  if (block->state == engine::BlockState::Cached) {
    painter.fillRect(box, mix(colour, empty, 0.28));
    if (isDetailed) {
      painter.setPen(QPen(palette.color(Role::Cached), 1.0));
      painter.drawLine(box.bottomLeft() + QPointF(1, -1), box.topRight() + QPointF(-1, 1));
    }
    return;
  }
  const int blockSize = m_snapshot->pool ? m_snapshot->pool->blockSize : 0;
  const double filled = blockSize > 0 ? std::clamp(block->filled / static_cast<double>(blockSize), 0.0, 1.0) : 1.0;
  painter.fillRect(box, mix(colour, empty, 0.22));
  if (!isDetailed) {
    painter.fillRect(box, mix(colour, empty, 0.35 + 0.65 * filled));
    return;
  }
  const double height = std::round(box.height() * filled);
  painter.fillRect(QRectF(box.left(), box.bottom() - height, box.width(), height), colour);
  if (block->refCount > 1) {
    const double radius = std::max(1.3, m_arrangement.cell * 0.11);
    painter.setPen(Qt::NoPen);
    painter.setBrush(palette.isDark() ? Qt::white : palette.color(Role::Text));
    painter.drawEllipse(QPointF(box.right() - radius - 1.5, box.top() + radius + 1.5), radius, radius);
  }
}

void BlockMapView::paintBase() {
  arrange();
  const double ratio = devicePixelRatioF();
  m_base = QPixmap((QSizeF(size()) * ratio).toSize());
  m_base.setDevicePixelRatio(ratio);
  m_base.fill(style::paletteOf(this->palette()).color(Role::Panel));
  QPainter painter(&m_base);
  const style::Palette& palette = style::paletteOf(this->palette());
  for (const models::BlockCell& cell : m_arrangement.cells) paintCell(painter, cell);
  painter.setFont(style::textFont(11));
  painter.setPen(palette.color(Role::MutedText));
  for (const models::BlockRowLabel& label : m_arrangement.labels) {
    painter.drawText(label.rect, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(label.text, Qt::ElideRight,
                                                      static_cast<int>(label.rect.width())));
  }
  if (m_arrangement.cells.empty()) {
    painter.setFont(style::textFont(13));
    const bool hasModel = m_snapshot && m_snapshot->model;
    painter.drawText(rect(), Qt::AlignCenter,
                     !hasModel ? tr("Open a model to see its KV blocks.")
                     : m_order == models::BlockOrder::Logical
                         ? tr("No request holds blocks now. Send a message.")
                         : tr("This source tells nothing about blocks."));
  }
  m_isDirty = false;
}

void BlockMapView::paintOverlay(QPainter& painter) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const engine::RequestId request = m_selection.shownRequest();
  const engine::BlockId block = m_selection.shownBlock();
  const engine::StepId step = m_selection.shownStep();
  if (request.isNone() && block.isNone() && step.isNone()) return;
  std::vector<bool> marked(m_snapshot ? m_snapshot->blocks.size() : 0, false);
  if (m_snapshot && !request.isNone()) {
    for (const engine::RequestSnapshot& entry : m_snapshot->requests) {
      if (entry.id != request) continue;
      for (engine::BlockId id : entry.blocks) {
        if (id.value >= 0 && id.value < static_cast<int>(marked.size())) {
          marked[static_cast<std::size_t>(id.value)] = true;
        }
      }
    }
  }
  painter.setBrush(Qt::NoBrush);
  for (const models::BlockCell& cell : m_arrangement.cells) {
    const bool isRequest = cell.block >= 0 && cell.block < static_cast<int>(marked.size()) &&
                           marked[static_cast<std::size_t>(cell.block)];
    const bool isBlock = cell.block == block.value && !block.isNone();
    const auto* state = blockAt(cell.block);
    // what the step under the time cursor took, as far as it still holds it
    const bool isOfStep = state && !step.isNone() && state->state != engine::BlockState::Free &&
                          state->allocatedStep == step.value;
    if (!isRequest && !isBlock && !isOfStep) continue;
    painter.setPen(QPen(palette.color(isBlock || isOfStep ? Role::Hover : Role::Text), isBlock || isOfStep ? 2.0 : 1.0));
    painter.drawRect(cell.rect.adjusted(0, 0, -1, -1));
  }
}

void BlockMapView::paintEvent(QPaintEvent*) {
  if (m_isDirty) paintBase();
  QPainter painter(this);
  painter.drawPixmap(0, 0, m_base);
  paintOverlay(painter);
}

void BlockMapView::resizeEvent(QResizeEvent*) { invalidate(); }

void BlockMapView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) invalidate();
  QWidget::changeEvent(event);
}

void BlockMapView::mouseMoveEvent(QMouseEvent* event) {
  const int at = m_arrangement.cellAt(event->position());
  const engine::BlockSnapshot* block = at < 0 ? nullptr : blockAt(m_arrangement.cells[static_cast<std::size_t>(at)].block);
  m_selection.hoverBlock(block ? engine::BlockId(m_arrangement.cells[static_cast<std::size_t>(at)].block)
                               : engine::BlockId());
  const bool hasOwner = block && block->state == engine::BlockState::Used;
  m_selection.hoverRequest(hasOwner ? block->owner : engine::RequestId());
}

void BlockMapView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  m_selection.pinBlock(m_selection.hoveredBlock());
  m_selection.pinRequest(m_selection.hoveredRequest());
}

void BlockMapView::leaveEvent(QEvent*) { m_selection.clearHover(); }

void BlockMapView::moveCursor(int step) {
  const int count = m_snapshot ? static_cast<int>(m_snapshot->blocks.size()) : 0;
  if (count == 0) return;
  const int from = m_selection.pinnedBlock().isNone() ? 0 : m_selection.pinnedBlock().value + step;
  const int to = std::clamp(from, 0, count - 1);
  m_selection.pinBlock(engine::BlockId(to));
  const engine::BlockSnapshot* block = blockAt(to);
  m_selection.pinRequest(block && block->refCount > 0 ? block->owner : engine::RequestId());
  setAccessibleDescription(describeBlock(to));
}

void BlockMapView::keyPressEvent(QKeyEvent* event) {
  const int columns = std::max(1, static_cast<int>(width() / std::max(1.0, m_arrangement.cell)));
  switch (event->key()) {
    case Qt::Key_Left: return moveCursor(-1);
    case Qt::Key_Right: return moveCursor(1);
    case Qt::Key_Up: return moveCursor(-columns);
    case Qt::Key_Down: return moveCursor(columns);
    default: QWidget::keyPressEvent(event);
  }
}

QString BlockMapView::labelOf(engine::RequestId id) const {
  for (const engine::RequestSnapshot& request : m_snapshot->requests) {
    if (request.id == id) return QString::fromStdString(request.label);
  }
  return id.isNone() ? QString() : tr("request %1").arg(id.value);
}

QString BlockMapView::describeBlock(int index) const {
  const engine::BlockSnapshot* block = blockAt(index);
  if (!block) return {};
  if (block->state == engine::BlockState::Free) return tr("block %1 · free").arg(index);
  const int blockSize = m_snapshot->pool ? m_snapshot->pool->blockSize : 0;
  const bool isCached = block->state == engine::BlockState::Cached;
  QStringList lines;
  lines << (isCached ? tr("block %1 · cached, free to take · last of %2").arg(index).arg(labelOf(block->owner))
                     : tr("block %1 · %2 · logical %3").arg(index).arg(labelOf(block->owner)).arg(block->logical));
  lines << tr("%1 of %2 slots · %n reference(s)", nullptr, block->refCount).arg(block->filled).arg(blockSize);
  if (block->hash != 0) lines << tr("findable by its prefix · %1").arg(block->hash, 16, 16, QLatin1Char('0'));
  lines << tr("allocated at iteration %1, last used at %2")
               .arg(style::formatCount(static_cast<qint64>(block->allocatedStep)),
                    style::formatCount(static_cast<qint64>(block->lastUsedStep)));
  return lines.join(QLatin1Char('\n'));
}

bool BlockMapView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int at = m_arrangement.cellAt(help->pos());
    if (at < 0) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(),
                         describeBlock(m_arrangement.cells[static_cast<std::size_t>(at)].block), this);
    }
    return true;
  }
  return QWidget::event(event);
}

}  // namespace ui::views
