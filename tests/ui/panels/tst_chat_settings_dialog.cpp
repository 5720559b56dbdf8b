// The settings of one chat as a person sees them: one column of numbers, one button that stands out.
#include "ui/panels/chat_settings_dialog.h"

#include <QAbstractSpinBox>
#include <QApplication>
#include <QDialogButtonBox>
#include <QPushButton>
#include <QTest>
#include <set>

#include "ui/style/theme.h"

using ui::panels::ChatSettingsDialog;

class ChatSettingsDialogTest : public QObject {
  Q_OBJECT

 private slots:
  void numbersStandInOneColumn();
  void savingStandsOutAndCancellingDoesNot();
  void dialogButtonsBearWordsAlone();
};

void ChatSettingsDialogTest::numbersStandInOneColumn() {
  const ui::style::Theme theme(*qApp);
  ChatSettingsDialog dialog({}, {});
  dialog.show();
  QTest::qWait(20);
  std::set<std::pair<int, int>> places;
  for (auto* box : dialog.findChildren<QAbstractSpinBox*>()) {
    places.emplace(box->mapTo(&dialog, QPoint()).x(), box->width());
    QVERIFY(box->width() >= box->sizeHint().width());
  }
  QCOMPARE(dialog.findChildren<QAbstractSpinBox*>().size(), 8);
  QCOMPARE(places.size(), std::size_t{1});
}

void ChatSettingsDialogTest::savingStandsOutAndCancellingDoesNot() {
  const ui::style::Theme theme(*qApp);
  ChatSettingsDialog dialog({}, {});
  dialog.show();
  for (auto* button : dialog.findChildren<QPushButton*>()) {
    QCOMPARE(button->property("role").toString(), button->text() == "Save" ? QString("primary") : QString());
    QCOMPARE(button->isDefault(), button->text() == "Save");
    if (button->text() == "Cancel") QTest::mouseClick(button, Qt::LeftButton);
  }
  QVERIFY(!dialog.isVisible());
  QCOMPARE(dialog.result(), int(QDialog::Rejected));
}

void ChatSettingsDialogTest::dialogButtonsBearWordsAlone() {
  const ui::style::Theme theme(*qApp);
  const QDialogButtonBox box(QDialogButtonBox::Close | QDialogButtonBox::Ok);
  for (auto* button : box.buttons()) QVERIFY(button->icon().isNull());
}

QTEST_MAIN(ChatSettingsDialogTest)
#include "tst_chat_settings_dialog.moc"
