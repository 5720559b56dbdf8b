// The menus of the main window and their shortcuts.
#include <QActionGroup>
#include <QApplication>
#include <QFileDialog>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>

#include "ui/main_window.h"
#include "ui/panels/chat_list_panel.h"
#include "ui/panels/chat_panel.h"
#include "ui/panels/transport_bar.h"
#include "ui/program_desk.h"
#include "ui/panels/view_card.h"
#include "ui/panels/workbench.h"

namespace ui {

using panels::Perspective;

void MainWindow::buildMenus() {
  QMenuBar& bar = m_header->menuBar();
  QMenu* file = bar.addMenu(tr("&File"));
  file->addAction(tr("&New chat"), QKeySequence(QStringLiteral("Ctrl+N")), m_chatList, &panels::ChatListPanel::newChat);
  file->addAction(tr("&Open a model…"), QKeySequence(QStringLiteral("Ctrl+O")), this, [this] { openModelDialog(); });
  file->addAction(tr("&Search all chats"), QKeySequence(QStringLiteral("Ctrl+F")), this, [this] {
    setPerspective(Perspective::Chat);
    m_chatList->focusSearch();
  });
  QAction* demo = file->addAction(tr("Open the recorded r&un"), this, [this] { openRecording(); });
  demo->setObjectName(QStringLiteral("openRecordedRun"));
  file->addAction(tr("Open a recordin&g…"), this, [this] {
    auto* dialog = new QFileDialog(this, tr("Open a recording"), {}, tr("Recordings (*.trace);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::openRecording);
    dialog->open();
  });
  file->addAction(tr("&Close the recording"), this, &MainWindow::closeRecording);
  file->addSeparator();
  file->addAction(tr("&Rename chat"), QKeySequence(QStringLiteral("F2")), m_chatList, &panels::ChatListPanel::renameCurrent);
  file->addAction(tr("&Delete chat"), QKeySequence(QStringLiteral("Ctrl+Shift+Delete")), m_chatList,
                  &panels::ChatListPanel::deleteCurrent);
  file->addAction(tr("&Bring back deleted chat"), QKeySequence(QStringLiteral("Ctrl+Shift+Z")), m_chatList,
                  &panels::ChatListPanel::undoDelete);
  file->addSeparator();
  m_desk->fillFileMenu(*file);
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence(QStringLiteral("Ctrl+Q")), this, &QWidget::close);

  QMenu* engineMenu = bar.addMenu(tr("&Engine"));
  panels::TransportBar& transport = m_header->transport();
  engineMenu->addAction(tr("&Stop this answer"), QKeySequence(QStringLiteral("Esc")), m_chatPanel, &panels::ChatPanel::stop);
  engineMenu->addAction(tr("&Answer again"), QKeySequence(QStringLiteral("Ctrl+R")), m_chatPanel,
                        &panels::ChatPanel::regenerateLast);
  engineMenu->addAction(tr("&Chat settings…"), QKeySequence(QStringLiteral("Ctrl+,")), m_chatPanel,
                        &panels::ChatPanel::editSettings);
  engineMenu->addSeparator();
  engineMenu->addAction(tr("&Pause or resume"), QKeySequence(QStringLiteral("F8")), &transport,
                        &panels::TransportBar::toggleEngine);
  engineMenu->addAction(tr("Step &one iteration"), QKeySequence(QStringLiteral("F10")), &transport,
                        [&transport] { transport.step(1); });
  engineMenu->addAction(tr("Step &ten iterations"), QKeySequence(QStringLiteral("Shift+F10")), &transport,
                        [&transport] { transport.step(10); });
  engineMenu->addSeparator();
  engineMenu->addAction(tr("&Cancel loading"), &m_loader, &models::ModelLoader::cancel);
  engineMenu->addAction(tr("&Unload the model"), &m_loader, &models::ModelLoader::unload);

  buildViewMenu(*bar.addMenu(tr("&View")));
  QMenu* help = bar.addMenu(tr("&Help"));
  help->addAction(tr("&Shortcuts"), QKeySequence(QStringLiteral("F1")), this, &MainWindow::showShortcuts);
  m_desk->fillHelpMenu(*help);
}

void MainWindow::buildViewMenu(QMenu& menu) {
  menu.addAction(tr("&Chat"), QKeySequence(QStringLiteral("Alt+1")), this, [this] { setPerspective(Perspective::Chat); });
  menu.addAction(tr("&Teach"), QKeySequence(QStringLiteral("Alt+2")), this, [this] { setPerspective(Perspective::Teach); });
  menu.addAction(tr("T&une"), QKeySequence(QStringLiteral("Alt+3")), this, [this] { setPerspective(Perspective::Tune); });
  panels::TransportBar& transport = m_header->transport();
  menu.addAction(tr("&Hold the view still"), QKeySequence(QStringLiteral("F9")), &transport,
                 &panels::TransportBar::toggleView);
  menu.addAction(tr("Focused view as &table"), QKeySequence(QStringLiteral("Ctrl+T")), this, &MainWindow::toggleTable);
  QMenu* views = menu.addMenu(tr("&Views"));
  views->addActions(m_workbench->dockActions());
  menu.addAction(tr("&Reset the layout"), m_workbench, &panels::Workbench::resetLayout);
  menu.addSeparator();
  auto* group = new QActionGroup(&menu);
  const std::pair<QString, style::ThemeMode> modes[] = {{tr("Colours: &automatic"), style::ThemeMode::Auto},
                                                        {tr("Colours: &light"), style::ThemeMode::Light},
                                                        {tr("Colours: &dark"), style::ThemeMode::Dark}};
  for (const auto& [text, mode] : modes) {
    QAction* action = menu.addAction(text, this, [this, mode = mode] { m_desk->setThemeMode(mode); });
    action->setCheckable(true);
    action->setChecked(m_theme.mode() == mode);
    group->addAction(action);
    connect(this, &MainWindow::preferencesChanged, action,
            [this, action, mode = mode] { action->setChecked(m_theme.mode() == mode); });
  }
  menu.addSeparator();
  menu.addAction(tr("&Full screen"), QKeySequence(QStringLiteral("F11")), this, [this] {
    setWindowState(windowState() ^ Qt::WindowFullScreen);
  });
}

void MainWindow::toggleTable() {
  for (QWidget* at = QApplication::focusWidget(); at; at = at->parentWidget()) {
    if (auto* card = qobject_cast<panels::ViewCard*>(at)) return card->showTable(!card->isTableShown());
  }
}

void MainWindow::showShortcuts() {
  QStringList rows;
  const auto addRow = [&rows](const QString& keys, const QString& deed) {
    rows << QStringLiteral("<tr><td style=\"white-space:pre\">%1</td><td style=\"padding-left:24px\">%2</td></tr>")
                .arg(keys.toHtmlEscaped(), deed.toHtmlEscaped());
  };
  for (QAction* menu : m_header->menuBar().actions()) {
    for (QAction* action : menu->menu()->actions()) {
      if (action->shortcut().isEmpty()) continue;
      addRow(action->shortcut().toString(QKeySequence::NativeText), action->text().remove(QLatin1Char('&')));
    }
  }
  addRow(tr("Enter"), tr("Send"));
  addRow(tr("Shift+Enter"), tr("New line"));
  auto* box = new QMessageBox(QMessageBox::NoIcon, tr("Shortcuts"),
                              QStringLiteral("<table cellspacing=\"0\">%1</table>").arg(rows.join(QString())),
                              QMessageBox::Close, this);
  box->setTextFormat(Qt::RichText);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

}  // namespace ui
