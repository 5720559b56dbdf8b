#include "ui/models/source_table_model.h"

#include <QLocale>

#include "ui/style/format.h"

namespace ui::models {

namespace {

QString displayed(const QVariant& value) {
  if (value.typeId() == QMetaType::Double) {
    return QLocale().toString(value.toDouble(), 'f', 3);  // one below another, at one point
  }
  if (value.typeId() == QMetaType::LongLong) return style::formatCount(value.toLongLong());
  return value.toString();
}

QString quoted(const QString& text) {
  if (!text.contains(QLatin1Char(',')) && !text.contains(QLatin1Char('"')) && !text.contains(QLatin1Char('\n'))) return text;
  QString escaped = text;
  escaped.replace(QLatin1Char('"'), QStringLiteral("\"\""));
  return QLatin1Char('"') + escaped + QLatin1Char('"');
}

bool isNumber(const QVariant& value) {
  return value.typeId() == QMetaType::Double || value.typeId() == QMetaType::LongLong;
}

}  // namespace

SourceTableModel::SourceTableModel(std::unique_ptr<TableSource> source, QObject* parent)
    : QAbstractTableModel(parent), m_source(std::move(source)), m_columns(m_source->columns()) {}

void SourceTableModel::refresh() {
  const int before = m_numRows, now = m_source->prepare();
  if (now > before && before > 0) {
    beginInsertRows({}, before, now - 1);
    m_numRows = now;
    endInsertRows();
  } else if (now != before) {
    beginResetModel();
    m_numRows = now;
    endResetModel();
    return;
  }
  if (before > 0) emit dataChanged(index(0, 0), index(before - 1, static_cast<int>(m_columns.size()) - 1));
}

int SourceTableModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_numRows; }

int SourceTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

QVariant SourceTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= m_numRows) return {};
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: return displayed(m_source->cell(index.row(), index.column()));
    case Qt::EditRole: return m_source->cell(index.row(), index.column());
    case Qt::TextAlignmentRole:
      return QVariant((isNumber(m_source->cell(index.row(), index.column())) ? Qt::AlignRight : Qt::AlignLeft) |
                      Qt::AlignVCenter);
    default: return {};
  }
}

QVariant SourceTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section >= m_columns.size()) return {};
  if (role == Qt::DisplayRole) return m_columns[section];
  if (role == Qt::TextAlignmentRole) {
    const bool isRight = m_numRows > 0 && isNumber(m_source->cell(0, section));
    return QVariant((isRight ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  return {};
}

QString csvOf(const QAbstractItemModel& model, const QList<int>& rows) {
  const int numColumns = model.columnCount();
  QString text;
  const auto addLine = [&](const auto& cell) {
    for (int column = 0; column < numColumns; ++column) {
      if (column > 0) text += QLatin1Char(',');
      text += quoted(cell(column));
    }
    text += QLatin1Char('\n');
  };
  addLine([&](int column) { return model.headerData(column, Qt::Horizontal).toString(); });
  const int count = rows.isEmpty() ? model.rowCount() : static_cast<int>(rows.size());
  for (int i = 0; i < count; ++i) {
    const int row = rows.isEmpty() ? i : rows[i];
    addLine([&](int column) {
      const QModelIndex index = model.index(row, column);
      const QVariant plain = model.data(index, Qt::EditRole);
      return (plain.isValid() ? plain : model.data(index, Qt::DisplayRole)).toString();
    });
  }
  return text;
}

}  // namespace ui::models
