#include "kernels/cpu/cpu_topology.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

using namespace kernels::cpu;

class CpuTopologyTest : public QObject {
  Q_OBJECT

 private slots:

  void listsOfCpusAreParsed() {
    QCOMPARE(parseCpuList("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
    QCOMPARE(parseCpuList("5\n"), (std::vector<int>{5}));
    QCOMPARE(parseCpuList(""), std::vector<int>{});
    QCOMPARE(parseCpuList("x,2-1,7"), (std::vector<int>{7}));
    QVERIFY(parseCpuList("0-999999999999").size() <= 65536);
  }

  void hyperThreadsOfOneCoreCountOnce() {
    writeCores({"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"});
    const CpuTopology all = read({0, 1, 2, 3, 4, 5, 6, 7});
    QCOMPARE(all.logicalCpus, 8);
    QCOMPARE(all.physicalCores, 4);
    QCOMPARE(all.usefulThreads(), 4);
  }

  void affinityHoldsTheCoresDown() {
    writeCores({"0-1", "0-1", "2-3", "2-3"});
    QCOMPARE(read({0, 1}).physicalCores, 1);
    QCOMPARE(read({1, 2}).physicalCores, 2);
    QCOMPARE(read({3}).usefulThreads(), 1);
  }

  void aCpuWithoutTopologyIsItsOwnCore() {
    QCOMPARE(read({0, 1, 2}).physicalCores, 3);
    QCOMPARE(read({}).usefulThreads(), 1);
  }

  void theQuotaOfTheGroupOrAParentLimits() {
    writeCores({"0", "1", "2", "3"});
    write("proc/self/cgroup", "0::/user/app\n");
    write("sys/fs/cgroup/user/app/cpu.max", "max 100000\n");
    QCOMPARE(read({0, 1, 2, 3}).quotaCpus, 0);
    QCOMPARE(read({0, 1, 2, 3}).usefulThreads(), 4);
    write("sys/fs/cgroup/user/cpu.max", "250000 100000\n");
    QCOMPARE(read({0, 1, 2, 3}).quotaCpus, 3);
    QCOMPARE(read({0, 1, 2, 3}).usefulThreads(), 3);
    write("sys/fs/cgroup/user/app/cpu.max", "50000 100000\n");
    QCOMPARE(read({0, 1, 2, 3}).usefulThreads(), 1);
  }

  void theOlderControlGroupsAreReadToo() {
    writeCores({"0", "1", "2", "3"});
    write("proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n");
    write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "200000\n");
    write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    QCOMPARE(read({0, 1, 2, 3}).usefulThreads(), 2);
    write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
    QCOMPARE(read({0, 1, 2, 3}).usefulThreads(), 4);
  }

  void nodesHoldTheCpusThatMayBeUsed() {
    QVERIFY(readNodes({0, 1, 2, 3}).empty());
    writeNodes({"0-3", "4-7", ""});
    QCOMPARE(readNodes({0, 1, 2, 3, 4, 5, 6, 7}), (NumaNodes{{0, 1, 2, 3}, {4, 5, 6, 7}}));
    QCOMPARE(readNodes({1, 6, 7}), (NumaNodes{{1}, {6, 7}}));
    QCOMPARE(readNodes({5}), NumaNodes{{5}});
  }

  void threadsAreSpreadOverTheNodesAsTheyHaveCpus_data() {
    QTest::addColumn<QStringList>("cpuLists");
    QTest::addColumn<int>("numThreads");
    QTest::addColumn<QList<int>>("firstCpus");  // of each thread's node; empty: anywhere
    const QStringList even = {"0-3", "4-7"}, uneven = {"0-5", "6-7"};
    QTest::newRow("one node") << QStringList{"0-7"} << 8 << QList<int>{};
    QTest::newRow("one thread") << even << 1 << QList<int>{};
    QTest::newRow("two threads") << even << 2 << QList<int>{0, 4};
    QTest::newRow("three threads") << even << 3 << QList<int>{0, 4, 4};
    QTest::newRow("a thread a cpu") << even << 8 << QList<int>{0, 0, 0, 0, 4, 4, 4, 4};
    QTest::newRow("more threads than cpus")
        << QStringList{"0", "1"} << 5 << QList<int>{0, 0, 1, 1, 1};
    QTest::newRow("uneven nodes") << uneven << 4 << QList<int>{0, 0, 0, 6};
  }

  void threadsAreSpreadOverTheNodesAsTheyHaveCpus() {
    QFETCH(QStringList, cpuLists);
    QFETCH(int, numThreads);
    QFETCH(QList<int>, firstCpus);
    writeNodes(cpuLists);
    QList<int> found;
    for (const std::vector<int>& cpus : cpusOfThreads(readNodes({0, 1, 2, 3, 4, 5, 6, 7}), numThreads)) {
      found.push_back(cpus.front());
    }
    QCOMPARE(found, firstCpus);
  }

  void theRealMachineHasAtLeastOneCore() {
    const CpuTopology real = readCpuTopology();
    QVERIFY(real.logicalCpus >= 1);
    QVERIFY(real.physicalCores >= 1 && real.physicalCores <= real.logicalCpus);
    QVERIFY(real.usefulThreads() >= 1);
  }

  void init() { m_root = std::make_unique<QTemporaryDir>(); }

 private:
  NumaNodes readNodes(const std::vector<int>& cpus) {
    return readNumaNodes(m_root->path().toStdString(), cpus);
  }

  CpuTopology read(const std::vector<int>& cpus) {
    return readCpuTopology(m_root->path().toStdString(), cpus);
  }

  void write(const QString& path, const QByteArray& text) {
    const QFileInfo info(m_root->filePath(path));
    QVERIFY(QDir().mkpath(info.path()));
    QFile file(info.filePath());
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(text);
  }

  void writeCores(const QStringList& siblings) {
    for (int cpu = 0; cpu < siblings.size(); ++cpu) {
      write(QString("sys/devices/system/cpu/cpu%1/topology/thread_siblings_list").arg(cpu),
            siblings[cpu].toUtf8() + '\n');
    }
  }

  void writeNodes(const QStringList& cpuLists) {
    write("sys/devices/system/node/online", QString("0-%1\n").arg(cpuLists.size() - 1).toUtf8());
    for (int node = 0; node < cpuLists.size(); ++node) {
      write(QString("sys/devices/system/node/node%1/cpulist").arg(node),
            cpuLists[node].toUtf8() + '\n');
    }
  }

  std::unique_ptr<QTemporaryDir> m_root;
};

QTEST_GUILESS_MAIN(CpuTopologyTest)
#include "tst_cpu_topology.moc"
