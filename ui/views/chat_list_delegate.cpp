#include "ui/views/chat_list_delegate.h"

#include <QPainter>

#include "ui/models/chat_list_model.h"
#include "ui/style/fonts.h"
#include "ui/style/theme.h"

namespace ui::views {

using style::Role;

void ChatListDelegate::paint(QPainter* painter,
                             const QStyleOptionViewItem& option,
                             const QModelIndex& index) const {
  const auto& colors = style::paletteOf(option.palette);
  const bool isCurrent = option.state & QStyle::State_Selected;
  const bool isHovered = option.state & QStyle::State_MouseOver;
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  const QRectF row = QRectF(option.rect).adjusted(8, 2, -8, -4);
  if (isCurrent || isHovered) {
    painter->setPen((option.state & QStyle::State_HasFocus) ? QPen(colors.color(Role::Accent)) : QPen(Qt::NoPen));
    painter->setBrush(colors.color(isCurrent ? Role::Field : Role::Canvas));
    painter->drawRoundedRect(row, 6, 6);
  }
  const QRectF text = row.adjusted(14, 6, -8, -4);
  const double titleHeight = style::scaledPx(19);
  painter->setFont(style::textFont(13, isCurrent ? QFont::DemiBold : QFont::Normal));
  painter->setPen(colors.color(Role::Text));
  const QString title = painter->fontMetrics().elidedText(index.data(Qt::DisplayRole).toString(), Qt::ElideRight,
                                                          int(text.width()));
  painter->drawText(QRectF(text.left(), text.top(), text.width(), titleHeight), Qt::AlignVCenter, title);
  painter->setFont(style::textFont(11));
  const bool isWriting = index.data(models::ChatListModel::IsWritingRole).toBool();
  painter->setPen(isWriting ? style::blend(colors.color(Role::Accepted), colors.color(Role::Text), 0.8)
                            : colors.color(Role::MutedText));
  painter->drawText(QRectF(text.left(), text.top() + titleHeight, text.width(), style::scaledPx(17)), Qt::AlignVCenter,
                    index.data(models::ChatListModel::DetailRole).toString());
  painter->restore();
}

QSize ChatListDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const {
  return {200, static_cast<int>(style::scaledPx(36)) + 18};
}

}  // namespace ui::views
