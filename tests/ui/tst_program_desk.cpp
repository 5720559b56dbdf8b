// What every desktop program has, driven as a person would: menus, keys, clicks, drops, dialogs.
#include "ui/program_desk.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <QUrl>

#include "tests/ui/window_stage.h"
#include "ui/panels/about_dialog.h"
#include "ui/panels/banner.h"
#include "ui/panels/chat_list_panel.h"
#include "ui/panels/first_run_page.h"
#include "ui/panels/load_bar.h"
#include "ui/panels/log_window.h"
#include "ui/panels/open_model_dialog.h"
#include "ui/panels/settings_dialog.h"
#include "ui/style/english_plurals.h"
#include "ui/views/transcript_view.h"

using test_support::shown;
using test_support::Stage;
using ui::models::MessageState;

namespace {

// The action of the menu bar with this text (mnemonics left out); null when there is none.
QAction* actionNamed(QMenu* menu, const QString& text) {
  for (QAction* action : menu->actions()) {
    if (action->text().remove('&') == text) return action;
    if (action->menu()) {
      if (QAction* found = actionNamed(action->menu(), text)) return found;
    }
  }
  return nullptr;
}
QAction* actionNamed(ui::MainWindow& window, const QString& text) {
  for (QAction* top : window.header().menuBar().actions()) {
    if (QAction* found = actionNamed(top->menu(), text)) return found;
  }
  return nullptr;
}

void dropOn(QWidget& target, const QList<QUrl>& urls) {
  QMimeData data;
  data.setUrls(urls);
  QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&target, &enter);
  QVERIFY(enter.isAccepted());
  QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&target, &drop);
  QVERIFY(drop.isAccepted());
}

}  // namespace

class ProgramDeskTest : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void aLoadShowsStagesAndBytesAndCanBeGivenUp();
  void aModelThatDoesNotFitOpensTheDialog();
  void switchingAndUnloadingKeepChatsAndSayWhyAnAnswerEnded();
  void recentModelsAreInTheMenuAndForgotten();
  void filesDroppedAnywhereAreHandedOn();
  void theFirstRunPageSaysWhatToDoNext();
  void settingsAreSavedAndAtOnceInForce();
  void settingsThatAreCancelledChangeNothing();
  void newChatsBeginWithTheDefaults();
  void theLogAndDiagnosticsHoldNoChatText();
  void aboutNamesEveryLibraryAndTheLicence();
  void whatTheLastRunLeftIsSaid();
  void anEditThatWasBeingTypedComesBack();
  void longTypingIsSavedWithoutAPause();
  void theChatIsCopiedAsMarkdownWithAKey();
};

void ProgramDeskTest::init() {
  QApplication::clipboard()->clear();
  QApplication::setPalette(QPalette());  // the platform's, not what the test before left
}

void ProgramDeskTest::aLoadShowsStagesAndBytesAndCanBeGivenUp() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.fake.loadSteps = 20;
  stage.start(false);
  auto& bar = stage.window.loadBar();
  QVERIFY(!bar.isVisible());
  stage.window.openModel("/models/big.gguf");
  stage.play(1);  // the estimate
  stage.play(10);
  QVERIFY(bar.isVisible());
  QVERIFY2(bar.stageText().startsWith("packing weights · ") && bar.stageText().contains(" of 92.0 MB"), qPrintable(bar.stageText()));
  QVERIFY(bar.progress().value() > 200 && bar.progress().value() < 800);
  QTest::mouseClick(&bar.cancelButton(), Qt::LeftButton);
  stage.play(1);
  QVERIFY(!bar.isVisible());
  QVERIFY(!stage.window.loader().isLoading());
  QVERIFY(!stage.window.engineBridge().liveSnapshot()->model);
}

void ProgramDeskTest::aModelThatDoesNotFitOpensTheDialog() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.fake.freeBytes = 1'000'000;
  stage.start(false);
  stage.window.openModel("/models/huge.gguf");
  stage.play(2);
  auto* dialog = shown<ui::panels::OpenModelDialog>(stage.window);
  QVERIFY(dialog);
  QTRY_COMPARE((stage.window.engineBridge().pull(), dialog->loadButton().text()), QString("Load anyway"));
  QCOMPARE(dialog->config().load.modelPath, std::string("/models/huge.gguf"));
  QCOMPARE(stage.fake.countCommands<engine::LoadModel>(), 0);
  QTest::mouseClick(&dialog->loadButton(), Qt::LeftButton);
  QCOMPARE(stage.fake.countCommands<engine::LoadModel>(), 1);
}

void ProgramDeskTest::switchingAndUnloadingKeepChatsAndSayWhyAnAnswerEnded() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.fake.replyTo = [](const engine::RequestSpec&) {
    return tests::FakeReply{tests::piecesOf(QString("word ").repeated(300).toStdString()), {}, {}};
  };
  stage.start();
  stage.say("keep me");
  stage.play(20);
  const qint64 chat = stage.window.chatPanel().chatId();
  stage.window.openModel("/models/other.gguf");
  stage.play(1);
  stage.play(10);
  QCOMPARE(stage.window.engineBridge().liveSnapshot()->model->path, std::string("/models/other.gguf"));
  QCOMPARE(stage.lastMessage()->state, MessageState::Stopped);
  QVERIFY(stage.lastMessage()->text.startsWith("word word"));
  actionNamed(stage.window, "Unload the model")->trigger();
  stage.play(1);
  QVERIFY(!stage.window.engineBridge().liveSnapshot()->model);
  QCOMPARE(stage.window.chatPanel().chatId(), chat);
  QCOMPARE(stage.window.conversations().path(chat).size(), 2u);
  stage.say("no model now");
  QVERIFY(stage.window.chatPanel().composer().error().contains("No model is open"));
}

void ProgramDeskTest::recentModelsAreInTheMenuAndForgotten() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start(false);
  QFile there(dir.filePath("there & here.gguf"));
  QVERIFY(there.open(QIODevice::WriteOnly));
  for (const QString& path : {QString("/models/gone.gguf"), there.fileName()}) {
    stage.window.openModel(path);
    stage.play(1);
    stage.play(10);
  }
  QSignalSpy wanted(&stage.window.desk(), &ui::ProgramDesk::filesWanted);
  QAction* recent = actionNamed(stage.window, "Open recent");
  QVERIFY(recent && recent->menu());
  emit recent->menu()->aboutToShow();
  QAction* first = recent->menu()->actions().front();
  QCOMPARE(first->text(), QString("there && here.gguf"));
  first->trigger();
  QCOMPARE(wanted.size(), 1);
  QCOMPARE(wanted[0][0].toStringList(), QStringList{there.fileName()});
  actionNamed(stage.window, "gone.gguf")->trigger();  // a file that is gone leaves the list
  QCOMPARE(wanted.size(), 2);
  QCOMPARE(stage.window.loader().recentPaths(), QStringList{there.fileName()});
  emit recent->menu()->aboutToShow();
  actionNamed(stage.window, "Clear this list")->trigger();
  emit recent->menu()->aboutToShow();
  QVERIFY(!recent->menu()->actions().front()->isEnabled());
}

void ProgramDeskTest::filesDroppedAnywhereAreHandedOn() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  QSignalSpy wanted(&stage.window.desk(), &ui::ProgramDesk::filesWanted);
  dropOn(stage.window, {QUrl::fromLocalFile("/models/a b.gguf"), QUrl("https://example.org/x.gguf")});
  QCOMPARE(wanted.size(), 1);
  QCOMPARE(wanted[0][0].toStringList(), QStringList{"/models/a b.gguf"});
  // a drop on the place where one types opens the file, too: the field takes no files
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile("/models/b.gguf")});
  data.setText("file:///models/b.gguf");
  auto& edit = stage.window.chatPanel().composer().edit();
  QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(edit.viewport(), &enter);
  QVERIFY(!edit.toPlainText().contains("gguf"));
  QMimeData text;
  text.setText("just text");
  QDragEnterEvent plain(QPoint(50, 50), Qt::CopyAction, &text, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&stage.window, &plain);
  QCOMPARE(wanted.size(), 1);
}

void ProgramDeskTest::theFirstRunPageSaysWhatToDoNext() {
  QTemporaryDir dir;
  qputenv("XDG_DATA_HOME", dir.filePath("data").toUtf8());
  QDir(dir.path()).mkpath("data/tessera/models");
  QDir(dir.path()).mkpath("data/tessera/runs");
  for (const char* name : {"models/tiny.gguf", "models/big-00001-of-00002.gguf", "models/big-00002-of-00002.gguf",
                           "models/notes.txt", "runs/lesson.trace"}) {
    QFile file(dir.filePath(QString("data/tessera/") + name));
    QVERIFY(file.open(QIODevice::WriteOnly));
  }
  Stage stage(dir.path());
  stage.start(false);
  auto& page = stage.window.chatPanel().firstRun();
  QVERIFY(page.isVisible());
  QStringList names;
  for (QPushButton* button : page.fileButtons()) names << button->accessibleName();
  names.sort();
  QCOMPARE(names, (QStringList{"Open big-00001-of-00002.gguf", "Open lesson.trace", "Open tiny.gguf"}));
  for (int width : {700, 1280}) {  // no name is cut off without dots
    stage.window.resize(width, 700);
    QTest::qWait(20);
    for (QPushButton* button : page.fileButtons()) {
      QVERIFY2(button->fontMetrics().horizontalAdvance(button->text()) <= button->width() - 30, qPrintable(button->text()));
      QVERIFY(button->text().contains(".gguf") || button->text().contains(QChar(0x2026)) || button->text().contains(".trace"));
    }
  }
  const QList<QPushButton*> before = page.fileButtons();
  QEvent again(QEvent::WindowActivate);
  QApplication::sendEvent(&stage.window, &again);
  QCOMPARE(page.fileButtons(), before);  // nothing changed, so nothing moved
  QFile fetched(dir.filePath("data/tessera/models/fetched.gguf"));
  QVERIFY(fetched.open(QIODevice::WriteOnly));
  fetched.close();
  QEvent back(QEvent::WindowActivate);  // who fetched it in a terminal comes back
  QApplication::sendEvent(&stage.window, &back);
  QVERIFY(std::ranges::any_of(page.fileButtons(), [](auto* button) { return button->accessibleName() == "Open fetched.gguf"; }));
  QVERIFY(fetched.remove());
  QApplication::sendEvent(&stage.window, &back);
  QCOMPARE(page.fileButtons().size(), 3);
  QSignalSpy wanted(&stage.window.desk(), &ui::ProgramDesk::filesWanted);
  QTest::mouseClick(page.fileButtons().back(), Qt::LeftButton);
  QCOMPARE(wanted[0][0].toStringList(), QStringList{dir.filePath("data/tessera/runs/lesson.trace")});
  QTest::keyClick(&page.openButton(), Qt::Key_Space);
  QVERIFY(shown<ui::panels::OpenModelDialog>(stage.window));
  // what was found can be chosen there too, and the first stands ready
  QCOMPARE(QFileInfo(QString::fromStdString(shown<ui::panels::OpenModelDialog>(stage.window)->config().load.modelPath)).absolutePath(),
           dir.filePath("data/tessera/models"));
  shown<ui::panels::OpenModelDialog>(stage.window)->reject();
  stage.window.openModel("/models/broken.gguf");
  stage.play(1);
  stage.play(10);
  bool isSaid = false;
  for (QLabel* label : page.findChildren<QLabel*>()) isSaid |= label->isVisible() && label->text().contains("ends at byte 1,024");
  QVERIFY(isSaid);
  stage.window.openModel("/models/good.gguf");
  stage.play(1);
  stage.play(10);
  QVERIFY(!page.isVisible());
  qunsetenv("XDG_DATA_HOME");
}

void ProgramDeskTest::settingsAreSavedAndAtOnceInForce() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  actionNamed(stage.window, "Settings…")->trigger();
  auto* dialog = shown<ui::panels::SettingsDialog>(stage.window);
  QVERIFY(dialog);
  const auto named = [dialog](auto* kind, const QString& name) {
    for (auto* widget : dialog->findChildren<std::remove_pointer_t<decltype(kind)>*>()) {
      if (widget->accessibleName() == name) return widget;
    }
    return static_cast<decltype(kind)>(nullptr);
  };
  named(static_cast<QComboBox*>(nullptr), "Colours")->setCurrentIndex(2);
  QVERIFY(stage.theme.palette().isDark());  // before it is saved
  auto* size = named(static_cast<QSpinBox*>(nullptr), "Text size");
  QTest::keyClick(size, Qt::Key_Up);
  QTest::keyClick(size, Qt::Key_Up);
  QCOMPARE(stage.theme.textSize(), 15);
  dialog->tabs().setCurrentIndex(2);
  auto* threads = named(static_cast<QSpinBox*>(nullptr), "Threads");
  threads->setFocus();
  threads->selectAll();
  QTest::keyClicks(threads, "3");
  named(static_cast<QSpinBox*>(nullptr), "Most requests in a batch")->setValue(5);
  QTest::mouseClick(&dialog->saveButton(), Qt::LeftButton);
  QCOMPARE(stage.fake.countCommands<engine::SetLimits>(), 1);
  QCOMPARE(stage.fake.state().config.limits.maxSeqs, 5);
  QCOMPARE(stage.window.loader().configFor("/models/x.gguf").load.threads, 3);
  QStringList complaints;
  QSettings again(dir.filePath("tessera.ini"), QSettings::IniFormat);
  const auto kept = ui::models::readPreferences(again, complaints);
  QCOMPARE(kept, stage.window.desk().preferences());
  QCOMPARE(kept.textSize, 15);
  QVERIFY(kept.theme == ui::style::ThemeMode::Dark);
  QVERIFY(actionNamed(stage.window, "Colours: dark")->isChecked());
}

void ProgramDeskTest::settingsThatAreCancelledChangeNothing() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  const auto before = stage.window.desk().preferences();
  stage.window.desk().showSettings();
  auto* dialog = shown<ui::panels::SettingsDialog>(stage.window);
  QVERIFY(dialog);
  for (QComboBox* box : dialog->findChildren<QComboBox*>()) {
    if (box->accessibleName() == "Colours") box->setCurrentIndex(2);
  }
  QVERIFY(stage.theme.palette().isDark());
  QTest::keyClick(dialog, Qt::Key_Escape);
  QVERIFY(!stage.theme.palette().isDark());
  QCOMPARE(stage.window.desk().preferences(), before);
}

void ProgramDeskTest::newChatsBeginWithTheDefaults() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  stage.say("an old chat");
  stage.play(40);
  const qint64 old = stage.window.chatPanel().chatId();
  stage.window.chatList().newChat();
  const qint64 untouched = stage.window.chatPanel().chatId();
  stage.window.desk().showSettings();
  auto* dialog = shown<ui::panels::SettingsDialog>(stage.window);
  dialog->tabs().setCurrentIndex(1);
  dialog->findChild<QPlainTextEdit*>()->setPlainText("Answer in French.");
  QTest::mouseClick(&dialog->saveButton(), Qt::LeftButton);
  auto& conversations = stage.window.conversations();
  QCOMPARE(conversations.chat(untouched)->systemPrompt, QString("Answer in French."));
  QCOMPARE(conversations.chat(old)->systemPrompt, QString());
  stage.window.chatList().newChat();
  QCOMPARE(stage.window.chatPanel().chatId(), untouched);  // still the empty one
  stage.say("Hello");
  QVERIFY(conversations.conversationJson(untouched, conversations.path(untouched).front(), {}).find("Answer in French.") !=
          std::string::npos);
}

void ProgramDeskTest::theLogAndDiagnosticsHoldNoChatText() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.fake.replyTo = [](const engine::RequestSpec& spec) {
    if (spec.label.empty()) return tests::FakeReply{};
    return tests::FakeReply{{"xylophone"}, engine::FinishReason::Refused, "the template says: zanzibar secret"};
  };
  stage.start();
  stage.say("zanzibar secret");
  stage.play(10);
  stage.fake.pushMessage(engine::Notice{engine::Severity::Warning, "the queue is long"});
  stage.play(1);
  QTest::keyClick(&stage.window, Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
  auto* log = shown<ui::panels::LogWindow>(stage.window);
  if (!log) {  // offscreen windows may not be active for shortcuts
    actionNamed(stage.window, "Log and diagnostics")->trigger();
    log = shown<ui::panels::LogWindow>(stage.window);
  }
  QVERIFY(log);
  QVERIFY(log->shownText().contains("loaded /models/SmolLM2-135M.Q4_1.gguf"));
  QVERIFY(log->shownText().contains("the queue is long"));
  QTest::mouseClick(&log->problemsOnly(), Qt::LeftButton, {}, QPoint(8, log->problemsOnly().height() / 2));
  QVERIFY(!log->shownText().contains("loaded "));
  QTest::mouseClick(&log->copyButton(), Qt::LeftButton);
  const QString copied = QApplication::clipboard()->text();
  for (const char* part : {"Tessera ", "Qt 6", "machine: ", "SmolLM2-135M", "avx512vnni", "knobs, load: ", "token budget 512",
                           "request 1 ended: refused", "the queue is long"}) {
    QVERIFY2(copied.contains(part), qPrintable(QString("%1 is not in:\n%2").arg(part, copied)));
  }
  for (const char* secret : {"zanzibar", "xylophone"}) QVERIFY2(!copied.contains(secret), qPrintable(copied));
}

void ProgramDeskTest::aboutNamesEveryLibraryAndTheLicence() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  actionNamed(stage.window, "About Tessera")->trigger();
  auto* about = shown<ui::panels::AboutDialog>(stage.window);
  QVERIFY(about);
  QStringList names;
  auto* table = about->findChild<QTableWidget*>();
  for (int row = 0; row < table->rowCount(); ++row) {
    names << table->item(row, 0)->text();
    QVERIFY2(!table->item(row, 2)->text().isEmpty(), qPrintable(names.back()));
  }
  for (const char* library : {"Qt", "QCustomPlot", "sentencepiece", "PCRE2", "SQLite"}) QVERIFY(names.contains(library));
  about->tabs().setCurrentIndex(2);
  QVERIFY(about->findChild<QPlainTextEdit*>()->toPlainText().contains("GNU GENERAL PUBLIC LICENSE"));
}

void ProgramDeskTest::whatTheLastRunLeftIsSaid() {
  QTemporaryDir dir;
  {
    Stage stage(dir.path());
    stage.fake.replyTo = [](const engine::RequestSpec&) {
      return tests::FakeReply{tests::piecesOf(QString("word ").repeated(300).toStdString()), {}, {}};
    };
    stage.start();
    stage.say("one");
    stage.play(20);
    stage.window.saveAll();  // the program ends here without another word
  }
  Stage again(dir.path());
  again.start();
  QVERIFY2(again.window.banner().text().contains("1 answer was being written"), qPrintable(again.window.banner().text()));
  QCOMPARE(again.lastMessage()->state, MessageState::Interrupted);
  again.window.close();
  Stage third(dir.path());
  third.start();
  QVERIFY(!third.window.banner().text().contains("being written"));
}

void ProgramDeskTest::anEditThatWasBeingTypedComesBack() {
  QTemporaryDir dir;
  {
    Stage stage(dir.path());
    stage.start();
    stage.say("first question");
    stage.play(40);
    stage.window.chatPanel().composer().setText("a draft beside it");
    const qint64 question = stage.window.conversations().path(stage.window.chatPanel().chatId()).front();
    stage.window.chatPanel().transcript().editWanted(question);
    stage.window.chatPanel().composer().setText("first question, but bett");
    QTest::qWait(600);
  }
  Stage again(dir.path());
  again.start();
  again.window.chatList().setCurrentChat(again.window.conversations().chats().back().id);  // the other one is new
  auto& composer = again.window.chatPanel().composer();
  QCOMPARE(composer.text(), QString("first question, but bett"));
  QTest::keyClick(&composer.edit(), Qt::Key_Escape);
  QCOMPARE(composer.text(), QString("a draft beside it"));
}

void ProgramDeskTest::longTypingIsSavedWithoutAPause() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start(false);
  auto& edit = stage.window.chatPanel().composer().edit();
  QString typed;
  for (int i = 0; i < 60; ++i) {  // a key every 25 ms for 1.5 s
    QTest::keyClick(&edit, Qt::Key_A, Qt::NoModifier, 25);
    typed += 'a';
  }
  ui::models::ChatStore other(dir.filePath("chats.sqlite"));
  const QString kept = other.chats().front().draft;
  QVERIFY2(kept.size() >= 20, qPrintable(QString("%1 of %2 letters are on the disk").arg(kept.size()).arg(typed.size())));
}

void ProgramDeskTest::theChatIsCopiedAsMarkdownWithAKey() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  stage.say("Say something");
  stage.play(40);
  actionNamed(stage.window, "Copy chat as Markdown")->trigger();
  QCOMPARE(QApplication::clipboard()->text(), QString("# Say something\n\n**You**\n\nSay something\n\n**Model**\n\nA short answer.\n"));
}

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  QApplication::setApplicationVersion(QStringLiteral("0.1.0"));
  ui::style::EnglishPlurals plurals;
  QApplication::installTranslator(&plurals);
  ProgramDeskTest test;
  return QTest::qExec(&test, argc, argv);
}

#include "tst_program_desk.moc"
