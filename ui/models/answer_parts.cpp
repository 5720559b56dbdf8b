#include "ui/models/answer_parts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ui::models {

namespace {

const QString kThink = QStringLiteral("<think>");
const QString kThinkEnd = QStringLiteral("</think>");
const QString kCall = QStringLiteral("<tool_call>");
const QString kCallEnd = QStringLiteral("</tool_call>");

// How many characters at the end of `text` could be the beginning of `tag`.
qsizetype heldBack(const QString& text, const QString& tag) {
  for (qsizetype n = std::min(text.size(), tag.size() - 1); n > 0; --n) {
    if (text.endsWith(QStringView(tag).left(n))) return n;
  }
  return 0;
}

bool isBlank(const QString& text) {
  return std::all_of(text.begin(), text.end(), [](QChar c) { return c.isSpace(); });
}

}  // namespace

void AnswerSplitter::append(const QString& delta) {
  m_hold += delta;
  while (step(false)) {
  }
}

void AnswerSplitter::finish() {
  while (step(true)) {
  }
  if (!m_parts.empty()) m_parts.back().isClosed = m_parts.back().kind == PartKind::Text || m_parts.back().isClosed;
}

// False when nothing more can be decided.
bool AnswerSplitter::step(bool isLast) {
  if (m_hold.isEmpty()) return false;
  const bool isInside = !m_parts.empty() && !m_parts.back().isClosed && m_parts.back().kind != PartKind::Text;
  if (!isInside) return stepText(isLast);
  return stepInside(m_parts.back().kind == PartKind::Thinking ? kThinkEnd : kCallEnd, isLast);
}

bool AnswerSplitter::stepText(bool isLast) {
  if (m_isLineStart) {
    qsizetype place = 0;
    while (place < m_hold.size() && m_hold[place].isSpace() && m_hold[place] != QLatin1Char('\n')) ++place;
    const QStringView rest = QStringView(m_hold).mid(place);
    for (const QString& tag : {kThink, kThinkEnd, kCall}) {
      if (rest.startsWith(tag) && takeTag(tag, place)) return true;
      if (!isLast && rest.size() < tag.size() && tag.startsWith(rest)) return false;  // may become one
    }
    for (const auto& [mark, fence] : {std::pair(QStringLiteral("```"), Fence::Backticks),
                                      std::pair(QStringLiteral("~~~"), Fence::Tildes)}) {
      if (!isLast && rest.size() < mark.size() && mark.startsWith(rest)) return false;
      if (!rest.startsWith(mark)) continue;
      if (m_fence == Fence::None) m_fence = fence;
      else if (m_fence == fence) m_fence = Fence::None;
    }
  }
  const qsizetype lineEnd = m_hold.indexOf(QLatin1Char('\n'));
  const qsizetype length = lineEnd < 0 ? m_hold.size() : lineEnd + 1;
  add(m_hold.left(length));
  m_hold.remove(0, length);
  m_isLineStart = lineEnd >= 0;
  return true;
}

// False when the tag is text here.
bool AnswerSplitter::takeTag(const QString& tag, qsizetype place) {
  if (m_fence != Fence::None) return false;
  const bool hasThought =
      std::any_of(m_parts.begin(), m_parts.end(), [](const AnswerPart& p) { return p.kind == PartKind::Thinking; });
  if (tag == kThink) {
    if (!hasSaidNothing()) return false;
    open(PartKind::Thinking);
  } else if (tag == kCall) {
    open(PartKind::ToolCall);
  } else {
    if (hasThought || m_parts.size() > 1) return false;
    if (m_parts.empty()) m_parts.push_back({});
    m_parts.front().kind = PartKind::Thinking;
    m_parts.front().isClosed = true;
    m_skipsNewlines = true;
    ++m_revision;
  }
  m_hold.remove(0, place + tag.size());
  return true;
}

bool AnswerSplitter::stepInside(const QString& closingTag, bool isLast) {
  const qsizetype end = m_hold.indexOf(closingTag);
  if (end >= 0) {
    add(m_hold.left(end));
    m_hold.remove(0, end + closingTag.size());
    m_parts.back().isClosed = true;
    m_skipsNewlines = m_isLineStart = true;
    return true;
  }
  const qsizetype kept = isLast ? 0 : heldBack(m_hold, closingTag);
  const QString sure = m_hold.left(m_hold.size() - kept);
  m_hold.remove(0, sure.size());
  add(sure);
  return false;
}

void AnswerSplitter::open(PartKind kind) {
  if (!m_parts.empty()) m_parts.back().isClosed = true;
  if (!m_parts.empty() && m_parts.back().kind == PartKind::Text && isBlank(m_parts.back().text)) m_parts.pop_back();
  m_parts.push_back({kind, {}, false});
  m_skipsNewlines = true;
}

void AnswerSplitter::add(const QString& text) {
  QString rest = text;
  if (m_skipsNewlines) {  // the ones around a tag belong to it
    qsizetype first = 0;
    while (first < rest.size() && rest[first] == QLatin1Char('\n')) ++first;
    rest.remove(0, first);
    if (rest.isEmpty()) return;
    m_skipsNewlines = false;
  }
  if (rest.isEmpty()) return;
  if (m_parts.empty() || m_parts.back().isClosed) m_parts.push_back({});
  m_parts.back().text += rest;
}

bool AnswerSplitter::hasSaidNothing() const {
  return std::all_of(m_parts.begin(), m_parts.end(), [](const AnswerPart& p) {
    return p.kind != PartKind::Text || isBlank(p.text);
  });
}

std::vector<AnswerPart> partsOf(const QString& answer) {
  AnswerSplitter splitter;
  splitter.append(answer);
  splitter.finish();
  return splitter.parts();
}

std::optional<ToolCall> toolCallFrom(const QString& json) {
  const auto document = nlohmann::ordered_json::parse(json.toStdString(), nullptr, false);
  if (!document.is_object()) return std::nullopt;
  const auto name = document.find("name");
  if (name == document.end() || !name->is_string()) return std::nullopt;
  ToolCall call;
  call.name = QString::fromStdString(name->get<std::string>());
  auto arguments = document.find("arguments");
  if (arguments == document.end()) arguments = document.find("parameters");
  if (arguments == document.end()) return call;
  if (!arguments->is_object()) return std::nullopt;
  for (const auto& [key, value] : arguments->items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump(2);
    call.arguments.emplace_back(QString::fromStdString(key), QString::fromStdString(text));
  }
  return call;
}

}  // namespace ui::models
