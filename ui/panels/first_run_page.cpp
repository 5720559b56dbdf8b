#include "ui/panels/first_run_page.h"

#include <QDir>
#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/style/fonts.h"

namespace ui::panels {

namespace {

constexpr int kWidth = 460;
constexpr int kButtonSides = 32;  // border and padding, left and right

QString shortFolder(const QString& path) {
  QString folder = QFileInfo(path).absolutePath();
  const QString home = QDir::homePath();
  if (folder.startsWith(home + QLatin1Char('/'))) folder.replace(0, home.size(), QStringLiteral("~"));
  return folder;
}

// As much of a file's name and folder as its width holds.
class FileButton : public QPushButton {
 public:
  FileButton(const QString& text, QWidget* parent) : QPushButton(parent), m_whole(text) {
    setProperty("role", "file");
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    setText(text.left(1));  // its height; the width comes with the first layout
  }

 protected:
  void resizeEvent(QResizeEvent* event) override {
    QPushButton::resizeEvent(event);
    const QString shown = fontMetrics().elidedText(m_whole, Qt::ElideMiddle, width() - kButtonSides);
    setText(QString(shown).replace(QLatin1Char('&'), QLatin1String("&&")));
  }

 private:
  const QString m_whole;
};

}  // namespace

FirstRunPage::FirstRunPage(QWidget* parent) : QScrollArea(parent), m_page(new QWidget) {
  setProperty("role", "plain");  // what is behind it shows: the canvas, or a card
  setFrameShape(QFrame::NoFrame);
  setWidgetResizable(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::NoFocus);
  setAccessibleName(tr("What to do next"));
  viewport()->setAutoFillBackground(false);
  m_page->setAutoFillBackground(false);
  m_title = new QLabel(tr("Open a model to begin"), m_page);
  m_title->setFont(style::textFont(20, QFont::DemiBold));
  m_title->setWordWrap(true);
  m_remark = new QLabel(m_page);
  m_remark->setWordWrap(true);
  m_remark->setProperty("role", "error");
  m_remark->hide();
  auto* how = new QLabel(tr("A model is one GGUF file. Drop it onto this window, or choose it:"), m_page);
  how->setWordWrap(true);
  how->setProperty("role", "muted");
  m_open = new QPushButton(tr("Open a model…"), m_page);
  m_open->setProperty("role", "primary");
  m_open->setToolTip(tr("Open a model (Ctrl+O)"));
  m_fetch = new QLabel(tr("No model at hand? In the folder of Tessera's source, <b>packaging/fetch-model</b> fetches "
                          "a small one (92 MB) and puts it where this page finds it."), m_page);
  m_fetch->setWordWrap(true);
  m_fetch->setProperty("role", "muted");
  m_fetch->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_sections = new QVBoxLayout;
  m_sections->setSpacing(4);
  auto* column = new QVBoxLayout;
  column->setSpacing(12);
  column->addWidget(m_title);
  column->addWidget(m_remark);
  column->addWidget(how);
  column->addWidget(m_open, 0, Qt::AlignLeft);
  column->addLayout(m_sections);
  column->addWidget(m_fetch);
  auto* inner = new QWidget(m_page);
  inner->setMaximumWidth(kWidth);
  inner->setLayout(column);
  auto* row = new QHBoxLayout;
  row->addStretch(1);
  row->addWidget(inner, 100);
  row->addStretch(1);
  auto* layout = new QVBoxLayout(m_page);
  layout->setContentsMargins(20, 20, 20, 20);
  layout->addStretch(1);
  layout->addLayout(row);
  layout->addStretch(2);
  setWidget(m_page);
  connect(m_open, &QPushButton::clicked, this, &FirstRunPage::openWanted);
}

void FirstRunPage::setRemark(const QString& sentence) {
  m_remark->setText(sentence);
  m_remark->setVisible(!sentence.isEmpty());
}

QString FirstRunPage::remark() const { return m_remark->text(); }

void FirstRunPage::addSection(const QString& title, const QStringList& paths) {
  if (paths.isEmpty()) return;
  auto* label = new QLabel(title, m_page);
  label->setProperty("role", "title");
  label->setContentsMargins(0, 8, 0, 0);
  m_sections->addWidget(label);
  for (const QString& path : paths) {
    auto* button = new FileButton(QStringLiteral("%1   %2").arg(QFileInfo(path).fileName(), shortFolder(path)), m_page);
    button->setToolTip(path);
    button->setAccessibleName(tr("Open %1").arg(QFileInfo(path).fileName()));
    connect(button, &QPushButton::clicked, this, [this, path] { emit fileWanted(path); });
    m_sections->addWidget(button);
    m_files << button;
  }
}

void FirstRunPage::setChoices(const FirstRunChoices& choices) {
  if (choices == m_choices) return;  // the buttons stay where somebody may be about to click
  m_choices = choices;
  while (QLayoutItem* item = m_sections->takeAt(0)) {
    if (item->widget()) {
      item->widget()->hide();
      item->widget()->deleteLater();  // this may run inside a click on it
    }
    delete item;
  }
  m_files.clear();
  addSection(tr("Opened before"), choices.recent);
  addSection(tr("On this computer"), choices.found);
  addSection(tr("Recorded runs, to watch without a model"), choices.runs);
  m_fetch->setVisible(choices.recent.isEmpty() && choices.found.isEmpty());
}

}  // namespace ui::panels
