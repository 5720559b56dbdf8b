#include "ui/panels/about_dialog.h"

#include <QApplication>
#include <QDialogButtonBox>
#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QPlainTextEdit>
#include <QTabWidget>
#include <QTableWidget>
#include <QVBoxLayout>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <qcustomplot.h>

#include "ui/style/fonts.h"

static void loadLicenceResource() { Q_INIT_RESOURCE(licence); }  // must stand outside any namespace

namespace ui::panels {

namespace {

QString versionOf(int major, int minor, int patch) { return QStringLiteral("%1.%2.%3").arg(major).arg(minor).arg(patch); }

}  // namespace

std::vector<LibraryCredit> libraryCredits() {
  const auto t = [](const char* text) { return AboutDialog::tr(text); };
  return {
      {QStringLiteral("Qt"), QLatin1String(qVersion()), QStringLiteral("LGPL-3.0"), t("window, database, local socket"),
       QStringLiteral("The Qt Company Ltd. and contributors")},
      {QStringLiteral("QCustomPlot"), QStringLiteral(QCUSTOMPLOT_VERSION_STR), QStringLiteral("GPL-3.0-or-later"), t("line and distribution plots"),
       QStringLiteral("Emanuel Eichhammer")},
      {QStringLiteral("sentencepiece"), {}, QStringLiteral("Apache-2.0"), t("tokenizer of some models"), QStringLiteral("Google LLC")},
      {QStringLiteral("JSON for Modern C++"),
       versionOf(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH), QStringLiteral("MIT"),
       t("JSON"), QStringLiteral("Niels Lohmann")},
      {QStringLiteral("{fmt}"), versionOf(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100), QStringLiteral("MIT"),
       t("formatting of text"), QStringLiteral("Victor Zverovich and contributors")},
      {QStringLiteral("spdlog"), {}, QStringLiteral("MIT"), t("the engine's log"), QStringLiteral("Gabi Melman and contributors")},
      {QStringLiteral("CLI11"), {}, QStringLiteral("BSD-3-Clause"), t("command line"), QStringLiteral("University of Cincinnati")},
      {QStringLiteral("PCRE2"), {}, QStringLiteral("BSD-3-Clause"), t("rules that cut text before tokens"), QStringLiteral("University of Cambridge")},
      {QStringLiteral("xxHash"), {}, QStringLiteral("BSD-2-Clause"), t("names of cached blocks"), QStringLiteral("Yann Collet")},
      {QStringLiteral("SQLite"), {}, t("public domain"), t("the chats on disk"), QStringLiteral("D. Richard Hipp and others")},
      {QStringLiteral("Inter, JetBrains Mono"), {}, QStringLiteral("OFL-1.1"), t("typefaces, where installed"),
       QStringLiteral("The Inter and JetBrains Mono Project Authors")},
  };
}

AboutDialog::AboutDialog(QWidget* parent) : QDialog(parent), m_tabs(new QTabWidget(this)) {
  setWindowTitle(tr("About Tessera"));
  m_tabs->addTab(makeAbout(), tr("&Tessera"));
  m_tabs->addTab(makeLibraries(), tr("&Libraries"));
  m_tabs->addTab(makeLicence(), tr("Li&cence"));
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_tabs, 1);
  layout->addWidget(buttons);
  resize(style::scaledSize(*this, 880, 500));
}

QWidget* AboutDialog::makeAbout() {
  auto* text = new QLabel(
      tr("<h2>Tessera %1</h2>"
         "<p>Serves large language models with its own engine and shows how: paged attention, continuous batching, "
         "chunked prefill, prefix caching and speculation, live and step by step, beside a chat.</p>"
         "<p>A tessera is one tile of a mosaic: here, one block of the KV cache.</p>"
         "<p>Free software under the GNU General Public License, version 3 or later. It comes without any warranty.</p>"
         "<p>Nothing leaves this computer: models run here, chats are kept here.</p>")
          .arg(QApplication::applicationVersion()));
  text->setWordWrap(true);
  text->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  text->setContentsMargins(16, 12, 16, 12);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  text->setAccessibleName(tr("About Tessera"));
  return text;
}

QWidget* AboutDialog::makeLibraries() {
  const auto credits = libraryCredits();
  auto* table = new QTableWidget(int(credits.size()), 5);
  table->setHorizontalHeaderLabels({tr("library"), tr("version"), tr("licence"), tr("what for"), tr("copyright")});
  for (int row = 0; row < table->rowCount(); ++row) {
    const LibraryCredit& credit = credits[std::size_t(row)];
    const QString cells[] = {credit.name, credit.version, credit.licence, credit.purpose, credit.holder};
    for (int column = 0; column < 5; ++column) table->setItem(row, column, new QTableWidgetItem(cells[column]));
  }
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setShowGrid(false);
  table->verticalHeader()->hide();
  table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);  // as the words below
  table->setAccessibleName(tr("Libraries and their licences"));
  return table;
}

QWidget* AboutDialog::makeLicence() {
  loadLicenceResource();
  auto* text = new QPlainTextEdit;
  text->setReadOnly(true);
  text->setFrameShape(QFrame::NoFrame);
  text->setFont(style::monoFont(12));
  text->setTabChangesFocus(true);
  text->setAccessibleName(tr("GNU General Public License"));
  QFile file(QStringLiteral(":/licence/LICENSE"));
  if (file.open(QIODevice::ReadOnly)) text->setPlainText(QString::fromUtf8(file.readAll()));
  return text;
}

}  // namespace ui::panels
