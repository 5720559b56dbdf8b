// Where packed weights are kept, by what the environment says.
// labels: contract
#include "engine/service/packed_folder.h"

#include <QtTest>

using namespace engine;
using engine::service::packedFolder;

namespace {

using Text = QByteArray;  // null where a variable is not set

const char* given(const Text& text) {
  return text.isNull() ? nullptr : text.constData();
}

}  // namespace

class TestPackedFolder : public QObject {
  Q_OBJECT

 private slots:

  void theEnvironmentNamesTheFolder_data() {
    QTest::addColumn<Text>("setting");
    QTest::addColumn<Text>("cacheHome");
    QTest::addColumn<Text>("home");
    QTest::addColumn<QString>("folder");
    const auto row = [](const char* name, const char* setting, const char* cacheHome,
                        const char* home, const char* folder) {
      QTest::newRow(name) << Text(setting) << Text(cacheHome) << Text(home) << QString(folder);
    };
    const char* none = nullptr;
    row("nothing said", none, none, "/users/a", "/users/a/.cache/tessera/packed");
    row("a cache home", none, "/var/c", "/users/a", "/var/c/tessera/packed");
    row("a relative cache home", "", "c", "/users/a", "/users/a/.cache/tessera/packed");
    row("an empty cache home", "on", "", "/users/a", "/users/a/.cache/tessera/packed");
    row("no home", none, none, none, "");
    row("an empty home", none, none, "", "");
    row("off", "off", "/var/c", "/users/a", "");
    row("a folder", "/big/disk", "/var/c", "/users/a", "/big/disk");
  }

  void theEnvironmentNamesTheFolder() {
    QFETCH(Text, setting);
    QFETCH(Text, cacheHome);
    QFETCH(Text, home);
    QFETCH(QString, folder);
    const Result<std::string> made = packedFolder(given(setting), given(cacheHome), given(home));
    QVERIFY(made.isOk());
    QCOMPARE(QString::fromStdString(*made), folder);
  }

  void anotherSettingIsRefused() {
    for (const char* setting : {"Off", "no", "0", "cache", "./cache", "~/cache"}) {
      const auto made = packedFolder(setting, nullptr, "/users/a");
      QVERIFY(!made.isOk());
      QCOMPARE(made.error().code, ErrorCode::InvalidArgument);
      QVERIFY(made.error().message.find(setting) != std::string::npos);
    }
  }

  void theProcessHasOne() {
    qputenv("TESSERA_PACKED_CACHE", "/big/disk");
    QCOMPARE(*service::packedFolderOfEnvironment(), std::string("/big/disk"));
    qputenv("TESSERA_PACKED_CACHE", "off");
    QCOMPARE(*service::packedFolderOfEnvironment(), std::string());
  }
};

QTEST_GUILESS_MAIN(TestPackedFolder)
#include "tst_packed_folder.moc"
