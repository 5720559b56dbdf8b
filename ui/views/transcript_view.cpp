#include "ui/views/transcript_view.h"

#include <QApplication>
#include <QClipboard>
#include <QElapsedTimer>
#include <QPushButton>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>

#include "ui/models/chat_markdown.h"
#include "ui/style/metrics.h"

namespace ui::views {

namespace {

constexpr int kMessageGap = 14;
constexpr int kSideMargin = 30;
constexpr int kNarrowSideMargin = 12;
constexpr int kTopMargin = 24, kBottomMargin = 20;
constexpr int kAtEndSlack = 24;  // px

}  // namespace

TranscriptView::TranscriptView(QWidget* parent) : QScrollArea(parent), m_column(new QWidget) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setWidget(m_column);
  viewport()->setAutoFillBackground(false);
  m_column->setAutoFillBackground(false);
  setAccessibleName(tr("Conversation"));
  setFocusPolicy(Qt::StrongFocus);
  verticalScrollBar()->setSingleStep(24);
  m_pill = new QPushButton(tr("↓ jump to latest"), this);
  m_pill->setProperty("role", "chip");
  m_pill->setAccessibleName(tr("Jump to the latest message"));
  m_pill->hide();
  connect(m_pill, &QPushButton::clicked, this, &TranscriptView::jumpToEnd);
  connect(verticalScrollBar(), &QScrollBar::valueChanged, this, &TranscriptView::onScrolled);
}

int TranscriptView::columnWidth() const {
  const int margin = viewport()->width() < 520 ? kNarrowSideMargin : kSideMargin;
  return std::max(160, std::min(style::kTranscriptMaxWidth, viewport()->width() - 2 * margin));
}

MessageView* TranscriptView::makeView(const models::MessageRecord& message) {
  auto* view = new MessageView(message, m_column);
  connect(view, &MessageView::branchWanted, this, &TranscriptView::branchWanted);
  connect(view, &MessageView::regenerateWanted, this, &TranscriptView::regenerateWanted);
  connect(view, &MessageView::editWanted, this, &TranscriptView::editWanted);
  connect(view, &MessageView::toolResultWanted, this, &TranscriptView::toolResultWanted);
  connect(view, &MessageView::copyWanted, this, &TranscriptView::copyMessage);
  connect(view, &MessageView::heightChanged, this, [this](qint64 id) { layOut(indexOf(id)); });
  view->show();
  return view;
}

void TranscriptView::setMessages(const std::vector<models::MessageRecord>& messages,
                                 const std::vector<BranchPlace>& places) {
  QHash<qint64, MessageView*> old;
  old.swap(m_byId);
  m_views.clear();
  m_isLayingOut = true;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    MessageView* view = old.take(messages[i].id);
    if (!view) view = makeView(messages[i]);
    else if (view->message().state != messages[i].state) view->setMessage(messages[i]);
    view->setBranch(places[i]);
    m_views.push_back(view);
    m_byId.insert(messages[i].id, view);
  }
  // deleted later: this may run inside a click on one of their buttons
  for (MessageView* view : std::as_const(old)) {
    view->hide();
    view->deleteLater();
  }
  m_isLayingOut = false;
  layOut();
}

std::size_t TranscriptView::indexOf(qint64 messageId) const {
  const auto found = std::find_if(m_views.begin(), m_views.end(),
                                  [messageId](MessageView* v) { return v->messageId() == messageId; });
  return static_cast<std::size_t>(found - m_views.begin());
}

void TranscriptView::layOut(std::size_t from) {
  if (m_isLayingOut) return;
  m_isLayingOut = true;
  const int width = columnWidth();
  const int x = std::max(0, (viewport()->width() - width) / 2);
  from = std::min(from, m_views.size());
  int y = from == 0 ? kTopMargin : m_views[from - 1]->geometry().bottom() + 1 + kMessageGap;
  for (std::size_t i = from; i < m_views.size(); ++i) {
    const int height = m_views[i]->heightFor(width);
    m_views[i]->setGeometry(x, y, width, height);
    y += height + kMessageGap;
  }
  m_column->resize(viewport()->width(), y - kMessageGap + kBottomMargin);
  if (m_isFollowing) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
  m_isLayingOut = false;
  wakeVisible();
  placePill();
}

void TranscriptView::wakeVisible() {
  if (m_isLayingOut) return;
  const int page = viewport()->height();
  const int top = verticalScrollBar()->value() - page;
  const int bottom = verticalScrollBar()->value() + 2 * page;
  std::size_t firstWoken = m_views.size();
  const int anchorTop = verticalScrollBar()->value();
  int heightAboveBefore = 0, heightAboveAfter = 0;
  for (std::size_t i = 0; i < m_views.size(); ++i) {
    MessageView* view = m_views[i];
    const QRect place = view->geometry();
    const bool isNear = place.bottom() >= top && place.top() <= bottom;
    if (!isNear) {
      view->sleep();
      continue;
    }
    if (view->isAwake()) continue;
    view->wake();
    firstWoken = std::min(firstWoken, i);
    if (place.bottom() < anchorTop) {
      heightAboveBefore += place.height();
      heightAboveAfter += view->heightFor(columnWidth());
    }
  }
  if (firstWoken == m_views.size()) return;
  layOut(firstWoken);
  // what the reader looks at stays where it is when estimates above it turn into heights
  if (!m_isFollowing && heightAboveAfter != heightAboveBefore) {
    verticalScrollBar()->setValue(verticalScrollBar()->value() + heightAboveAfter - heightAboveBefore);
  }
}

int TranscriptView::numAwake() const {
  return static_cast<int>(std::count_if(m_views.begin(), m_views.end(), [](MessageView* v) { return v->isAwake(); }));
}

void TranscriptView::appendText(qint64 messageId, const QString& delta) {
  MessageView* view = m_byId.value(messageId);
  if (!view) return;
  QElapsedTimer timer;
  timer.start();
  view->appendText(delta);
  layOut(indexOf(messageId));
  m_lastFlushMs = static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

void TranscriptView::setStream(qint64 messageId, const models::AnswerStream* stream) {
  if (MessageView* view = m_byId.value(messageId)) view->setStream(stream);
}

void TranscriptView::updateMessage(const models::MessageRecord& message) {
  if (MessageView* view = m_byId.value(message.id)) view->setMessage(message);
}

void TranscriptView::onScrolled() {
  if (m_isLayingOut) return;
  m_isFollowing = verticalScrollBar()->value() >= verticalScrollBar()->maximum() - kAtEndSlack;
  wakeVisible();
  placePill();
}

void TranscriptView::wheelEvent(QWheelEvent* event) {
  if (event->angleDelta().y() > 0) m_isFollowing = false;  // before any text can pull the page down again
  QScrollArea::wheelEvent(event);
  onScrolled();
}

void TranscriptView::jumpToEnd() {
  m_isFollowing = true;
  layOut(m_views.size());
  verticalScrollBar()->setValue(verticalScrollBar()->maximum());
  placePill();
}

void TranscriptView::placePill() {
  const bool isAway = verticalScrollBar()->value() < verticalScrollBar()->maximum() - kAtEndSlack;
  m_pill->setVisible(isAway && !m_isFollowing);
  if (!m_pill->isVisible()) return;
  m_pill->adjustSize();
  m_pill->move((width() - m_pill->width()) / 2, height() - m_pill->height() - 10);
  m_pill->raise();
}

void TranscriptView::copyMessage(qint64 messageId) {
  if (MessageView* view = m_byId.value(messageId)) QApplication::clipboard()->setText(models::toMarkdown(view->message()));
}

void TranscriptView::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  layOut();
}

void TranscriptView::refreshColors() {
  for (MessageView* view : m_views) view->refreshColors();
  layOut();
}

}  // namespace ui::views
