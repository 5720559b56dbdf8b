// Paints a chat's row: title, then its detail in small type; green while it is being written.
#pragma once

#include <QStyledItemDelegate>

namespace ui::views {

class ChatListDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace ui::views
