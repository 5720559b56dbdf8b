#include "ui/panels/load_bar.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>

#include "ui/style/format.h"

namespace ui::panels {

namespace {

QString stageName(const QString& stage) {
  if (stage == QLatin1String("reading")) return LoadBar::tr("reading the file");
  if (stage == QLatin1String("packing")) return LoadBar::tr("packing weights");
  return stage;
}

}  // namespace

LoadBar::LoadBar(models::ModelLoader& loader, QWidget* parent)
    : QFrame(parent), m_loader(loader), m_name(new QLabel(this)), m_stage(new QLabel(this)),
      m_progress(new QProgressBar(this)), m_cancel(new QPushButton(tr("Cancel"), this)) {
  setProperty("role", "loadbar");
  setAccessibleName(tr("Loading a model"));
  m_name->setProperty("role", "title");
  m_name->setTextFormat(Qt::PlainText);
  m_stage->setProperty("role", "muted");
  m_progress->setRange(0, 1000);
  m_progress->setTextVisible(false);
  m_progress->setAccessibleName(tr("Loading"));
  m_cancel->setProperty("role", "chip");
  m_cancel->setAccessibleName(tr("Cancel loading"));
  m_cancel->setToolTip(tr("Give this load up; the model in place stays"));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(14, 5, 14, 5);
  layout->setSpacing(12);
  layout->addWidget(m_name);
  layout->addWidget(m_progress, 1);
  layout->addWidget(m_stage);
  layout->addWidget(m_cancel);
  connect(m_cancel, &QPushButton::clicked, &m_loader, &models::ModelLoader::cancel);
  using models::ModelLoader;
  for (auto signal : {&ModelLoader::progressed, &ModelLoader::loaded, &ModelLoader::unloaded, &ModelLoader::cancelled}) {
    connect(&m_loader, signal, this, &LoadBar::refresh);
  }
  connect(&m_loader, &ModelLoader::failed, this, &LoadBar::refresh);
  refresh();
}

QString LoadBar::stageText() const {
  QStringList parts{stageName(m_loader.stage())};
  const qint64 total = m_loader.totalBytes();
  if (total > 0 && m_loader.stage() == QLatin1String("packing")) {
    parts << tr("%1 of %2").arg(style::formatBytes(qint64(m_loader.fraction() * double(total))), style::formatBytes(total));
    parts << style::formatPercent(m_loader.fraction());
  } else if (total > 0) {
    parts << style::formatBytes(total);
  }
  return parts.join(QStringLiteral(" · "));
}

void LoadBar::refresh() {
  const bool wasLoading = !isHidden();
  setVisible(m_loader.isLoading());
  if (!m_loader.isLoading()) return;
  if (!wasLoading) m_clock.start();
  QStringList stage{stageText()};
  if (m_clock.elapsed() > 1000) stage << style::formatMs(double(m_clock.elapsed()));
  m_name->setText(QFileInfo(m_loader.loadingPath()).fileName());
  m_stage->setText(stage.join(QStringLiteral(" · ")));
  // reading takes a moment, packing most of the time
  const bool isReading = m_loader.stage() == QLatin1String("reading");
  m_progress->setValue(isReading ? int(50 * m_loader.fraction()) : 50 + int(950 * m_loader.fraction()));
}

}  // namespace ui::panels
