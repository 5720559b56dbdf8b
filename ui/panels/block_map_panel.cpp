#include "ui/panels/block_map_panel.h"

#include <QButtonGroup>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/models/run_record.h"
#include "ui/models/snapshot_tables.h"
#include "ui/style/format.h"
#include "ui/views/legend_view.h"
#include "ui/views/wrap_row.h"

namespace ui::panels {

namespace {

constexpr int kBetweenSwitches = 4, kBetweenGroups = 14;

QPushButton* addSwitch(views::WrapRow& row, QButtonGroup* group, const QString& text, const QString& tip) {
  auto* button = new QPushButton(text);
  button->setCheckable(true);
  button->setProperty("role", "chip");
  button->setToolTip(tip);
  button->setAccessibleDescription(tip);
  // the second group stands a little apart from the first
  row.add(button, group->buttons().isEmpty() ? kBetweenGroups : kBetweenSwitches);
  group->addButton(button);
  return button;
}

}  // namespace

BlockMapPanel::BlockMapPanel(const ViewParts& parts, QWidget* parent)
    : ViewCard(tr("KV block map"), parts.selection, parent),
      m_bridge(parts.bridge),
      m_map(new views::BlockMapView(parts.selection, m_hues)),
      m_legend(new views::LegendView) {
  auto* view = new QWidget;
  auto* column = new QVBoxLayout(view);
  column->setContentsMargins(0, 0, 0, 0);
  auto* row = new views::WrapRow;
  column->addWidget(row);
  buildSwitches(*row);
  column->addWidget(m_map, 1);
  column->addWidget(m_legend);
  setView(view);
  setTable(std::make_unique<models::BlockTable>(m_bridge));
  connect(&parts.record, &models::RunRecord::changed, this, &BlockMapPanel::moveOn);
}

void BlockMapPanel::buildSwitches(views::WrapRow& row) {
  using views::BlockColouring;
  auto* colouring = new QButtonGroup(this);
  const auto colour = [&](const QString& text, const QString& tip, BlockColouring value) {
    QPushButton* button = addSwitch(row, colouring, text, tip);
    button->setChecked(value == m_map->colouring());
    connect(button, &QPushButton::clicked, this, [this, value] { m_map->setColouring(value); });
  };
  colour(tr("owner"), tr("Colour by the request that holds the block"), BlockColouring::Owner);
  colour(tr("references"), tr("Colour by how many requests share the block"), BlockColouring::References);
  colour(tr("age"), tr("Colour by how lately the block was used"), BlockColouring::Age);
  colour(tr("prefix"), tr("Colour by the hash under which the block can be found again"), BlockColouring::Prefix);
  auto* order = new QButtonGroup(this);
  const auto arrange = [&](const QString& text, const QString& tip, models::BlockOrder value) {
    QPushButton* button = addSwitch(row, order, text, tip);
    button->setChecked(value == m_map->order());
    connect(button, &QPushButton::clicked, this, [this, value] { m_map->setOrder(value); });
  };
  arrange(tr("physical"), tr("Blocks where they stand in memory"), models::BlockOrder::Physical);
  arrange(tr("logical"), tr("One row a request, blocks in the order of its table"), models::BlockOrder::Logical);
}

void BlockMapPanel::refreshView() {
  const auto& snapshot = m_bridge.snapshot();
  m_snapshot = snapshot;
  if (snapshot) m_hues.update(snapshot->requests);
  m_map->setSnapshot(snapshot);
  showFigures();
  m_legend->setRequests(snapshot, m_hues);
}

void BlockMapPanel::showFigures() {
  if (!m_snapshot || !m_snapshot->pool) {
    setFigure(QString());
    return;
  }
  const engine::PoolSummary& pool = *m_snapshot->pool;
  setFigure(tr("%1 blocks · %2 used · %3 cached · %4 free · waste %5")
                .arg(style::formatCount(pool.numBlocks), style::formatCount(pool.usedBlocks),
                     style::formatCount(pool.cachedBlocks), style::formatCount(pool.freeBlocks),
                     style::formatPercent(pool.internalFragmentation)));
}

}  // namespace ui::panels
