#include "ui/panels/replay_panel.h"

#include <QComboBox>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "ui/bridge/engine_bridge.h"
#include "ui/style/fonts.h"

namespace ui::panels {

ReplayPanel::ReplayPanel(bridge::EngineBridge& bridge, bridge::Selection& selection, QWidget* parent)
    : QWidget(parent), m_bridge(bridge), m_selection(selection), m_request(new QComboBox), m_text(new QPlainTextEdit) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(14, 4, 14, 12);
  column->addWidget(m_request);
  column->addWidget(m_text, 1);
  m_request->setProperty("role", "knob");
  m_request->setAccessibleName(tr("Request of the recording"));
  m_text->setReadOnly(true);
  m_text->setFrameShape(QFrame::NoFrame);
  m_text->setFont(style::textFont(13));
  m_text->setAccessibleName(tr("What was asked and answered"));
  connect(m_request, &QComboBox::activated, this, [this](int index) {
    m_selection.pinRequest(m_texts.all()[static_cast<std::size_t>(index)].id);
  });
  connect(&m_selection, &bridge::Selection::changed, this, [this] {
    if (isVisible()) showTexts();
  });
  connect(&m_bridge, &bridge::EngineBridge::frameReady, this, &ReplayPanel::onFrame);
}

void ReplayPanel::onFrame(const bridge::Frame& frame) {
  auto* replay = m_bridge.replay();
  if (!replay) return m_texts.clear();
  if (m_texts.take(frame, *replay) && isVisible()) showTexts();
}

void ReplayPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  showTexts();
}

QString ReplayPanel::describe(const models::ReplayText& text) const {
  const QString asked = !text.prompt.isEmpty() ? text.prompt : tr("The recording holds no text of this question; it was given as token ids.");
  const auto shown = [&](const QString& answer) {
    if (!answer.isEmpty()) return answer;
    return text.isFinished ? tr("(no text came)") : tr("(no text yet)");
  };
  QString all = asked + QStringLiteral("\n\n———\n\n") + shown(text.answer);
  for (int i = 0; i < text.others.size(); ++i) {
    all += QStringLiteral("\n\n——— ") + tr("answer %1").arg(i + 2) + QStringLiteral(" ———\n\n") + shown(text.others[i]);
  }
  if (!text.note.isEmpty()) all += QStringLiteral("\n\n× ") + text.note;
  return all;
}

void ReplayPanel::showTexts() {
  const auto& all = m_texts.all();
  const QSignalBlocker blocker(m_request);
  if (m_request->count() > static_cast<int>(all.size())) m_request->clear();
  for (int i = m_request->count(); i < static_cast<int>(all.size()); ++i) m_request->addItem(all[static_cast<std::size_t>(i)].label);
  m_request->setEnabled(!all.empty());
  if (all.empty()) return m_text->setPlainText(tr("This recorded run has told no text up to here. Play it, or move the slider."));
  const models::ReplayText* shown = m_texts.find(m_selection.shownRequest());
  if (!shown) shown = &all.back();
  m_request->setCurrentIndex(static_cast<int>(shown - all.data()));
  const QString text = describe(*shown);
  if (text == m_text->toPlainText()) return;
  const bool isAtEnd = m_text->verticalScrollBar()->value() == m_text->verticalScrollBar()->maximum();
  m_text->setPlainText(text);
  if (isAtEnd) m_text->verticalScrollBar()->setValue(m_text->verticalScrollBar()->maximum());
}

QString ReplayPanel::shownText() const { return m_text->toPlainText(); }

}  // namespace ui::panels
