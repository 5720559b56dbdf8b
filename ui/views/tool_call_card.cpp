#include "ui/views/tool_call_card.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QPainter>
#include <QToolButton>

#include "ui/style/fonts.h"
#include "ui/style/theme.h"
#include "ui/views/message_text.h"

namespace ui::views {

using style::Role;

namespace {

constexpr int kPadding = 12, kHeadHeight = 30, kGap = 6;

QString argumentLines(const models::ToolCall& call) {
  if (call.arguments.empty()) return ToolCallCard::tr("no arguments");
  QStringList lines;
  for (const auto& [key, value] : call.arguments) {
    const bool isLong = value.contains(QLatin1Char('\n'));
    lines << (isLong ? QStringLiteral("%1:\n%2").arg(key, value) : QStringLiteral("%1: %2").arg(key, value));
  }
  return lines.join(QLatin1Char('\n'));
}

}  // namespace

ToolCallCard::ToolCallCard(QWidget* parent) : QFrame(parent) {
  setAccessibleName(tr("Tool call"));
  m_title = new QLabel(this);
  m_title->setFont(style::textFont(13, QFont::DemiBold));
  m_title->setTextFormat(Qt::PlainText);
  m_copy = new QToolButton(this);
  m_copy->setText(tr("copy"));
  m_copy->setAccessibleName(tr("Copy the call as JSON"));
  m_copy->setToolTip(m_copy->accessibleName());
  m_result = new QToolButton(this);
  m_result->setText(tr("give the result…"));
  m_result->setAccessibleName(tr("Type the result of this call and send it to the model"));
  m_result->setToolTip(m_result->accessibleName());
  for (QToolButton* button : {m_copy, m_result}) button->setFont(style::textFont(12));
  m_body = new MessageText(this);
  m_body->setMonospace();
  m_body->setAccessibleName(tr("Arguments"));
  connect(m_copy, &QToolButton::clicked, this, [this] { QApplication::clipboard()->setText(m_json.trimmed()); });
  connect(m_result, &QToolButton::clicked, this, [this] { emit resultWanted(m_name); });
}

void ToolCallCard::setCall(const QString& json, bool isWhole) {
  m_json = json;
  m_isWhole = isWhole;
  const auto call = isWhole ? models::toolCallFrom(json) : std::nullopt;
  m_name = call ? call->name : QString();
  if (call) {
    m_title->setText(tr("Calls %1").arg(call->name));
  } else {
    m_title->setText(isWhole ? tr("A tool call that cannot be read") : tr("Writing a tool call …"));
  }
  m_result->setVisible(call.has_value());
  m_body->setMessage(call ? argumentLines(*call) : json.trimmed(), false);
}

QString ToolCallCard::title() const { return m_title->text(); }

QString ToolCallCard::body() const { return m_body->toPlainText(); }

int ToolCallCard::heightFor(int width) {
  const int inner = std::max(80, width - 2 * kPadding);
  const int head = std::max(kHeadHeight, m_title->sizeHint().height());
  int right = width - kPadding;
  for (QToolButton* button : {m_result, m_copy}) {
    if (!button->isVisibleTo(this)) continue;
    const QSize size = button->sizeHint();
    right -= size.width();
    button->setGeometry(right, 2 + (head - size.height()) / 2, size.width(), size.height());
    right -= 4;
  }
  m_title->setGeometry(kPadding, 2, std::max(20, right - kPadding), head);
  const int body = m_body->heightFor(inner);
  m_body->setGeometry(kPadding, head + kGap, inner, body);
  return head + kGap + body + kPadding;
}

void ToolCallCard::refreshColors() {
  m_body->refreshColors();
}

void ToolCallCard::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const auto& colors = style::paletteOf(palette());
  const QRectF frame = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
  painter.setPen(colors.color(Role::Border));
  painter.setBrush(colors.color(Role::Panel));
  painter.drawRoundedRect(frame, 8, 8);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colors.color(Role::Accent));
  painter.drawRoundedRect(QRectF(0.5, 8, 3, height() - 16), 1.5, 1.5);
}

}  // namespace ui::views
