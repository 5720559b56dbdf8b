// The window's top line: name, menus, transport (Teach, Tune), the model and what runs it, the perspectives.
#pragma once

#include <QFrame>

#include "ui/models/model_loader.h"

class QMenuBar;
class QPushButton;
class QToolButton;

namespace ui::panels {

class TransportBar;

enum class Perspective { Chat, Teach, Tune };

// Ui thread only.
class HeaderBar : public QFrame {
  Q_OBJECT

 public:
  // Both must outlive the bar.
  HeaderBar(bridge::EngineBridge& bridge, models::ModelLoader& loader, QWidget* parent = nullptr);

  QMenuBar& menuBar() { return *m_menuBar; }
  TransportBar& transport() { return *m_transport; }
  void setPerspective(Perspective perspective);
  // Px below which something would be cut; what a narrow header leaves out is not counted.
  int leastWidth() const;

 signals:
  void perspectiveWanted(ui::panels::Perspective perspective);
  void openModelWanted();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  bool hasRoom(int pixels) const;  // at the usual text size
  void buildWidgets();
  void layOutWidgets();
  void connectWidgets();
  void showModel();
  void hideWhatIsTooWide();

  bridge::EngineBridge& m_bridge;
  models::ModelLoader& m_loader;
  QMenuBar* m_menuBar;
  TransportBar* m_transport;
  QPushButton *m_model, *m_device, *m_kv;
  QToolButton *m_chat, *m_teach, *m_tune;
  Perspective m_perspective = Perspective::Chat;
};

}  // namespace ui::panels
