// What Tessera is, under which licence, and whose libraries it stands on.
#pragma once

#include <QDialog>
#include <QStringList>
#include <vector>

class QTabWidget;

namespace ui::panels {

struct LibraryCredit {
  QString name, version, licence, purpose, holder;
};

// Everything that is part of the program or linked to it.
std::vector<LibraryCredit> libraryCredits();

// Ui thread only.
class AboutDialog : public QDialog {
  Q_OBJECT

 public:
  explicit AboutDialog(QWidget* parent = nullptr);

  QTabWidget& tabs() { return *m_tabs; }

 private:
  QWidget* makeAbout();
  QWidget* makeLibraries();
  QWidget* makeLicence();

  QTabWidget* m_tabs;
};

}  // namespace ui::panels
