// All views as docks that can be moved, with one arrangement for each perspective.
#pragma once

#include <QList>
#include <QMainWindow>
#include <QTimer>
#include <map>
#include <vector>

#include "ui/panels/header_bar.h"

class QSettings;

namespace ui::panels {

class Card;
class Dock;

// Ui thread only. What the user moved is kept for each perspective; what nobody moved follows the
// window's size.
class Workbench : public QMainWindow {
  Q_OBJECT

 public:
  explicit Workbench(QWidget* parent = nullptr);

  Dock& add(const QString& key, const QString& title, Card* card);
  Dock* dock(const QString& key) const;
  // Show and hide, for a menu.
  QList<QAction*> dockActions() const;

  void setPerspective(Perspective perspective);
  Perspective perspective() const { return m_perspective; }
  // The present perspective as it was at first.
  void resetLayout();
  // Whether the user has moved something in the present perspective.
  bool isCustomised() const { return m_isCustomised; }

  void loadLayouts(const QSettings& settings);
  void saveLayouts(QSettings& settings);

 protected:
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void arrange();
  void keepReadable();
  void placeColumns();
  void shareRoom();
  void resizePlaced(const QList<QDockWidget*>& docks, const QList<int>& sizes, Qt::Orientation orientation);
  void dressTabs();
  void raiseFronts();
  void showTabOf(const Dock& dock);
  void keepLayout();

  QTimer m_shareTimer;
  std::vector<Dock*> m_docks;
  std::map<Perspective, QByteArray> m_layouts;  // of perspectives that were customised
  Perspective m_perspective = Perspective::Chat;
  bool m_isCustomised = false, m_isArranging = false, m_isPlaced = false, m_areFrontsDue = false;
};

}  // namespace ui::panels
