#include "ui/views/message_body.h"

#include <algorithm>

#include "ui/views/message_text.h"
#include "ui/views/thought_fold.h"
#include "ui/views/tool_call_card.h"

namespace ui::views {

using models::AnswerPart;
using models::PartKind;

namespace {

constexpr int kPartGap = 8;

}  // namespace

QWidget* MessageBody::PartView::widget() const {
  if (text) return text;
  if (thought) return thought;
  return call;
}

MessageBody::MessageBody(BodyKind kind, QWidget* parent) : QWidget(parent), m_kind(kind) {}

void MessageBody::setMessage(const QString& text, bool isStreaming) {
  clearViews();
  m_splitter = {};
  m_revision = 0;
  m_isStreaming = isStreaming;
  if (m_kind == BodyKind::Plain) {
    m_views.push_back(makeView(PartKind::Text));
    m_views.back().text->setMessage(text, false);
    return;
  }
  m_splitter.append(text);
  if (!isStreaming) m_splitter.finish();
  showParts();
}

void MessageBody::append(const QString& delta) {
  if (m_kind == BodyKind::Plain) return;
  m_isStreaming = true;
  m_splitter.append(delta);
  showParts();
}

void MessageBody::finish() {
  if (!m_isStreaming) return;
  m_isStreaming = false;
  m_splitter.finish();
  showParts();
}

void MessageBody::showParts() {
  const auto& parts = m_splitter.parts();
  const bool isStale = m_splitter.revision() != m_revision || m_views.size() > parts.size() ||
                       !std::equal(m_views.begin(), m_views.end(), parts.begin(), parts.begin() + qsizetype(m_views.size()),
                                   [](const PartView& v, const AnswerPart& p) { return v.kind == p.kind; });
  if (isStale) clearViews();
  m_revision = m_splitter.revision();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == m_views.size()) m_views.push_back(makeView(parts[i].kind));
    showPart(m_views[i], parts[i]);
  }
}

void MessageBody::showPart(PartView& view, const AnswerPart& part) {
  const bool isWhole = part.isClosed || !m_isStreaming;
  const bool isNew = part.text.size() > view.numShown;
  if (!isNew && view.isClosed == isWhole && view.numShown > 0) return;
  const QString delta = part.text.mid(view.numShown);
  if (view.text) {
    if (view.numShown == 0 && isWhole) {
      view.text->setMessage(part.text, true);  // at once: long texts are shown plain and cut
    } else {
      if (isNew) view.text->appendMessage(delta);
      if (isWhole && !view.isClosed) view.text->finishMessage();
    }
  } else if (view.thought) {
    if (isNew) view.thought->append(delta);
    view.thought->setThinking(!isWhole);
  } else {
    view.call->setCall(part.text, isWhole);
  }
  view.numShown = part.text.size();
  view.isClosed = isWhole;
}

MessageBody::PartView MessageBody::makeView(PartKind kind) {
  PartView view;
  view.kind = kind;
  switch (kind) {
    case PartKind::Text:
      view.text = new MessageText(this);
      view.text->setAccessibleName(accessibleName());
      break;
    case PartKind::Thinking:
      view.thought = new ThoughtFold(this);
      view.thought->setThinking(m_isStreaming);
      view.thought->setUnfolded(m_areThoughtsUnfolded);
      connect(view.thought, &ThoughtFold::foldChanged, this, [this](bool unfolded) {
        m_areThoughtsUnfolded = unfolded;
        emit thoughtsUnfolded(unfolded);
        emit heightChanged();
      });
      m_thoughts.push_back(view.thought);
      break;
    case PartKind::ToolCall:
      view.call = new ToolCallCard(this);
      connect(view.call, &ToolCallCard::resultWanted, this, &MessageBody::resultWanted);
      m_calls.push_back(view.call);
      break;
  }
  view.widget()->show();
  return view;
}

// Deleted later: this may run inside a click on one of them.
void MessageBody::clearViews() {
  for (const PartView& view : m_views) {
    view.widget()->hide();
    view.widget()->deleteLater();
  }
  m_views.clear();
  m_thoughts.clear();
  m_calls.clear();
}

int MessageBody::heightFor(int width) {
  int y = 0;
  for (const PartView& view : m_views) {
    if (y > 0) y += kPartGap;
    const int height = view.text      ? view.text->heightFor(width)
                       : view.thought ? view.thought->heightFor(width)
                                      : view.call->heightFor(width);
    view.widget()->setGeometry(0, y, width, height);
    y += height;
  }
  return y;
}

int MessageBody::idealWidth() const { return m_views.empty() ? 0 : m_views.front().text->idealWidth(); }

MessageText* MessageBody::text() {
  for (const PartView& view : m_views) {
    if (view.text) return view.text;
  }
  return nullptr;
}

bool MessageBody::isInUse() const {
  return std::any_of(m_views.begin(), m_views.end(), [](const PartView& view) {
    const QWidget* widget = view.widget();
    return widget->hasFocus() || (view.text && view.text->textCursor().hasSelection()) ||
           widget->isAncestorOf(widget->window()->focusWidget());
  });
}

void MessageBody::setThoughtsUnfolded(bool unfolded) {
  m_areThoughtsUnfolded = unfolded;
  for (ThoughtFold* thought : m_thoughts) thought->setUnfolded(unfolded);
}

void MessageBody::refreshColors() {
  for (PartView& view : m_views) {
    if (view.thought) view.thought->refreshColors();
    if (view.call) view.call->refreshColors();
    if (view.text) view.text->refreshColors();
  }
}

}  // namespace ui::views
