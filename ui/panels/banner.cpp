#include "ui/panels/banner.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace ui::panels {

namespace {

constexpr int kMostSentences = 4;

}  // namespace

Banner::Banner(QWidget* parent) : QFrame(parent), m_label(new QLabel(this)) {
  setProperty("role", "banner");
  setAccessibleName(tr("Notice"));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 6, 6, 6);
  m_label->setWordWrap(true);
  m_label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  layout->addWidget(m_label, 1);
  auto* close = new QToolButton(this);
  close->setText(QStringLiteral("×"));
  close->setAccessibleName(tr("Close the notice"));
  layout->addWidget(close, 0, Qt::AlignTop);
  connect(close, &QToolButton::clicked, this, &Banner::clear);
  hide();
}

void Banner::addLasting(const QString& sentence) {
  m_lasting << sentence;
  add(sentence);
}

void Banner::add(const QString& sentence) {
  if (sentence.isEmpty() || m_sentences.contains(sentence)) return;
  m_sentences << sentence;
  if (m_sentences.size() > kMostSentences) m_sentences.removeFirst();
  showSentences();
}

bool Banner::remove(const QString& sentence) {
  const bool wasThere = m_sentences.removeAll(sentence) > 0;
  if (wasThere) showSentences();
  return wasThere;
}

void Banner::onModelLoaded() {
  m_sentences.removeIf([this](const QString& sentence) { return !m_lasting.contains(sentence); });
  showSentences();
}

void Banner::showSentences() {
  m_label->setText(QStringLiteral("! ") + m_sentences.join(QStringLiteral("\n! ")));
  setVisible(!m_sentences.isEmpty());
}

void Banner::clear() {
  m_sentences.clear();
  m_lasting.clear();
  hide();
}

QString Banner::text() const { return m_sentences.join(QLatin1Char('\n')); }

}  // namespace ui::panels
