#include "ui/panels/chat_list_panel.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QTimer>
#include <QVBoxLayout>

#include "ui/style/fonts.h"
#include "ui/style/metrics.h"
#include "ui/views/chat_list_delegate.h"

namespace ui::panels {

namespace {

constexpr int kUndoShownMs = 12'000;

}  // namespace

ChatListPanel::ChatListPanel(models::Conversations& conversations, QWidget* parent)
    : QFrame(parent), m_conversations(conversations), m_model(conversations) {
  setProperty("role", "sidebar");
  fitText();
  buildWidgets();
  layOutWidgets();
  connectWidgets();
}

void ChatListPanel::buildWidgets() {
  m_search = new QLineEdit(this);
  m_search->setProperty("role", "field");
  m_search->setPlaceholderText(tr("Search all chats  Ctrl+F"));
  m_search->setAccessibleName(tr("Search all chats"));
  m_search->setClearButtonEnabled(true);
  m_new = new QPushButton(tr("+ New chat"), this);
  m_new->setProperty("role", "primary");
  m_new->setAccessibleName(tr("New chat"));
  m_new->setToolTip(tr("New chat (Ctrl+N)"));
  m_list = new QListView(this);
  m_list->setModel(&m_model);
  m_list->setItemDelegate(new views::ChatListDelegate(m_list));
  m_list->setAccessibleName(tr("Chats"));
  m_list->setMouseTracking(true);
  m_list->setUniformItemSizes(true);
  m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  m_list->setEditTriggers(QAbstractItemView::EditKeyPressed);
  m_list->setContextMenuPolicy(Qt::CustomContextMenu);
  m_undoBar = new QFrame(this);
  m_undoBar->setProperty("role", "card");
  m_undo = new QPushButton(tr("Undo"), m_undoBar);
  m_undo->setAccessibleName(tr("Bring back the deleted chat"));
  m_undoBar->hide();
}

void ChatListPanel::layOutWidgets() {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 14, 1, 8);  // the border stays free
  layout->setSpacing(10);
  auto* top = new QVBoxLayout;
  top->setContentsMargins(14, 0, 14, 0);
  top->setSpacing(10);
  top->addWidget(m_search);
  top->addWidget(m_new);
  layout->addLayout(top);
  layout->addWidget(m_list, 1);
  auto* undo = new QHBoxLayout(m_undoBar);
  undo->setContentsMargins(10, 4, 4, 4);
  undo->addWidget(new QLabel(tr("Chat deleted"), m_undoBar), 1);
  undo->addWidget(m_undo);
  auto* bottom = new QVBoxLayout;
  bottom->setContentsMargins(14, 0, 14, 0);
  bottom->addWidget(m_undoBar);
  layout->addLayout(bottom);
}

void ChatListPanel::connectWidgets() {
  connect(m_search, &QLineEdit::textChanged, this, [this](const QString& text) {
    m_model.setSearch(text);
    syncSelection();
  });
  connect(m_new, &QPushButton::clicked, this, &ChatListPanel::newChat);
  connect(m_undo, &QPushButton::clicked, this, &ChatListPanel::undoDelete);
  connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& index) {
    if (!m_isSyncing && index.isValid()) setCurrentChat(m_model.chatIdAt(index.row()));
  });
  connect(&m_model, &QAbstractItemModel::modelReset, this, &ChatListPanel::syncSelection);
  connect(m_list, &QListView::customContextMenuRequested, this, &ChatListPanel::showMenu);
}

void ChatListPanel::fitText() { setFixedWidth(static_cast<int>(style::scaledPx(style::kSidebarWidth))); }

void ChatListPanel::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::FontChange) fitText();
}

void ChatListPanel::setCurrentChat(qint64 chatId) {
  const bool isNew = chatId != m_current;
  m_current = chatId;
  syncSelection();
  if (isNew) emit chatSelected(chatId);
}

void ChatListPanel::syncSelection() {
  m_isSyncing = true;
  const int row = m_model.rowOf(m_current);
  m_list->setCurrentIndex(row >= 0 ? m_model.index(row) : QModelIndex());
  m_isSyncing = false;
}

void ChatListPanel::focusSearch() {
  m_search->setFocus(Qt::ShortcutFocusReason);
  m_search->selectAll();
}

void ChatListPanel::newChat() {
  m_search->clear();
  setCurrentChat(m_conversations.newChat());
}

void ChatListPanel::renameCurrent() {
  if (const int row = m_model.rowOf(m_current); row >= 0) m_list->edit(m_model.index(row));
}

void ChatListPanel::deleteCurrent() {
  const int row = m_model.rowOf(m_current);
  if (m_current == 0) return;
  m_conversations.removeChat(m_current);
  const qint64 next = m_model.chatIdAt(std::min(row, m_model.rowCount() - 1));
  setCurrentChat(next != 0 ? next : m_conversations.newChat());
  m_undoBar->show();
  QTimer::singleShot(kUndoShownMs, m_undoBar, &QWidget::hide);
}

void ChatListPanel::undoDelete() {
  if (const qint64 id = m_conversations.undoRemove(); id != 0) setCurrentChat(id);
  if (!m_conversations.canUndoRemove()) m_undoBar->hide();
}

void ChatListPanel::showMenu(const QPoint& at) {
  const QModelIndex index = m_list->indexAt(at);
  if (!index.isValid()) return;
  setCurrentChat(m_model.chatIdAt(index.row()));
  QMenu menu(this);
  menu.addAction(tr("Rename"), this, &ChatListPanel::renameCurrent);
  menu.addAction(tr("Delete"), this, &ChatListPanel::deleteCurrent);
  menu.exec(m_list->viewport()->mapToGlobal(at));
}

}  // namespace ui::panels
