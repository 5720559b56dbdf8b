#include "app/window/picture_tour.h"

#include <QApplication>
#include <QDialog>
#include <QEventLoop>
#include <QTabWidget>
#include <QTimer>

#include "ui/bridge/engine_bridge.h"
#include "ui/panels/chat_list_panel.h"
#include "ui/panels/chat_panel.h"
#include "ui/panels/dock.h"
#include "ui/panels/view_card.h"
#include "ui/panels/workbench.h"
#include "ui/program_desk.h"

namespace app::window {

using ui::panels::Perspective;

namespace {

constexpr int kLargeText = 18, kUsualText = 13;
constexpr int kEstimateMs = 600;  // the memory of a model is estimated

QString nameOf(const QString& what, const QSize& size) {
  return QStringLiteral("%1-%2x%3").arg(what).arg(size.width()).arg(size.height());
}

}  // namespace

PictureTour::PictureTour(ui::MainWindow& window, ui::style::Theme& theme, const QString& folder, double patience)
    : m_window(window), m_theme(theme), m_folder(folder), m_patience(patience) {}

void PictureTour::settle(int ms) const {
  QEventLoop loop;
  QTimer::singleShot(static_cast<int>(ms * m_patience), &loop, &QEventLoop::quit);
  loop.exec();
}

void PictureTour::take(QWidget& widget, const QString& name, int settleMs) {
  for (const auto& [mode, suffix] : {std::pair(ui::style::ThemeMode::Light, "light"), std::pair(ui::style::ThemeMode::Dark, "dark")}) {
    m_theme.setMode(mode);
    settle(settleMs);
    const QString file = QStringLiteral("%1/%2-%3.png").arg(m_folder, name, QLatin1String(suffix));
    if (!widget.grab().save(file) && m_failure.isEmpty()) m_failure = tr("The picture %1 cannot be written.").arg(file);
  }
  m_theme.setMode(ui::style::ThemeMode::Light);
}

void PictureTour::takePerspectives(const QSize& size) {
  for (const auto& [perspective, name] :
       {std::pair(Perspective::Chat, "chat"), std::pair(Perspective::Teach, "teach"), std::pair(Perspective::Tune, "tune")}) {
    m_window.setPerspective(perspective);
    m_window.resize(size);
    takeWindow(nameOf(QLatin1String(name), size));
  }
}

void PictureTour::takeAll(const QString& name) {
  for (const auto& [perspective, which] :
       {std::pair(Perspective::Chat, "chat"), std::pair(Perspective::Teach, "teach"), std::pair(Perspective::Tune, "tune")}) {
    m_window.setPerspective(perspective);
    takeWindow(QStringLiteral("%1-%2").arg(name, QLatin1String(which)));
  }
}

void PictureTour::takeBehindTabs(Perspective perspective, const QString& name, const QStringList& docks) {
  m_window.setPerspective(perspective);
  settle(50);
  for (const QString& key : docks) {
    m_window.workbench().dock(key)->raise();
    takeWindow(name + QLatin1Char('-') + key);
  }
  m_window.workbench().resetLayout();
}

void PictureTour::takeTables(Perspective perspective, const QString& name) {
  m_window.setPerspective(perspective);
  settle(50);
  const auto cards = m_window.findChildren<ui::panels::ViewCard*>();
  for (const bool isTable : {true, false}) {
    for (auto* card : cards) card->showTable(isTable && card->isVisible());
    if (isTable) takeWindow(name, 600);
  }
}

void PictureTour::takeDialog(const QString& name, const std::function<void()>& open, int settleMs) {
  open();
  settle(settleMs);
  for (auto* dialog : m_window.findChildren<QDialog*>()) {
    if (!dialog->isVisible()) continue;
    auto* tabs = dialog->findChild<QTabWidget*>();
    for (int tab = 0; tab < (tabs ? tabs->count() : 1); ++tab) {
      if (tabs) tabs->setCurrentIndex(tab);
      take(*dialog, tabs ? QStringLiteral("%1-%2").arg(name).arg(tab + 1) : name, settleMs);
    }
    dialog->reject();
  }
  QApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
}

void PictureTour::takeDialogs() {
  takeDialog(QStringLiteral("open-model"), [this] { m_window.openModelDialog(); }, kEstimateMs);
  takeDialog(QStringLiteral("settings"), [this] { m_window.desk().showSettings(); });
  takeDialog(QStringLiteral("chat-settings"), [this] { m_window.chatPanel().editSettings(); });
  takeDialog(QStringLiteral("log"), [this] { m_window.desk().showLog(); });
  takeDialog(QStringLiteral("about"), [this] { m_window.desk().showAbout(); });
}

void PictureTour::takeViews() {
  m_window.resize(1280, 800);
  takeBehindTabs(Perspective::Teach, QStringLiteral("teach"), {QStringLiteral("requests"), QStringLiteral("traffic")});
  takeBehindTabs(Perspective::Tune, QStringLiteral("tune"), {QStringLiteral("requests"), QStringLiteral("blocks")});
  takeTables(Perspective::Teach, QStringLiteral("teach-tables"));
  takeTables(Perspective::Tune, QStringLiteral("tune-tables"));
  m_window.setPerspective(Perspective::Chat);
  takeDialogs();
  m_theme.setTextSize(kLargeText);
  takeAll(QStringLiteral("large-text"));
  m_window.setPerspective(Perspective::Chat);
  takeDialog(QStringLiteral("large-text-open-model"), [this] { m_window.openModelDialog(); }, kEstimateMs);
  takeDialog(QStringLiteral("large-text-settings"), [this] { m_window.desk().showSettings(); });
  m_theme.setTextSize(kUsualText);
  takePerspectives({900, 600});
  m_window.resize(1280, 800);
}

void PictureTour::takeRest() {
  m_window.resize(1280, 800);
  m_window.openRecording();
  if (auto* replay = m_window.engineBridge().replay()) {
    m_window.engineBridge().send(engine::Pause{});
    m_window.engineBridge().seekReplay(replay->endNs() * 6 / 10);
    takeAll(QStringLiteral("replay"));
    m_window.closeRecording();
  }
  m_window.loader().unload();
  m_window.chatList().newChat();
  m_window.setPerspective(Perspective::Chat);
  settle(500);
  takeAll(QStringLiteral("no-model"));
  m_window.setPerspective(Perspective::Chat);
  m_window.openModel(m_folder);  // no model: what is said of it
  settle(500);
  takeWindow(QStringLiteral("failed-load"));
}

}  // namespace app::window
