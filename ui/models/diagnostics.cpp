#include "ui/models/diagnostics.h"

#include <QCoreApplication>
#include <QFile>
#include <QGuiApplication>
#include <QScreen>
#include <QStringList>
#include <QSysInfo>
#include <QThread>
#include <algorithm>

#include "ui/style/format.h"

namespace ui::models {

namespace {

constexpr std::size_t kLogLines = 80;

// The value behind "key : value" or "key: value" in a file of the kernel.
QString valueIn(const char* path, const char* key) {
  QFile file{QLatin1String(path)};
  if (!file.open(QIODevice::ReadOnly)) return {};
  while (true) {
    const QByteArray line = file.readLine();
    if (line.isEmpty()) return {};
    if (!line.startsWith(key)) continue;
    const auto colon = line.indexOf(':');
    if (colon >= 0) return QString::fromUtf8(line.mid(colon + 1)).trimmed();
  }
}

qint64 memoryIn(const char* key) { return valueIn("/proc/meminfo", key).section(QLatin1Char(' '), 0, 0).toLongLong() * 1024; }

QString yesNo(bool value) { return value ? QStringLiteral("on") : QStringLiteral("off"); }

QString orDefault(qint64 value) { return value == 0 ? QStringLiteral("default") : QString::number(value); }

void addModel(QStringList& out, const engine::ModelInfo& m) {
  out << QStringLiteral("model: %1 · %2 · %3 · %4 parameters · %5")
             .arg(QString::fromStdString(m.name), QString::fromStdString(m.architecture), QString::fromStdString(m.quantisation),
                  QString::number(m.parameters), style::formatBytes(m.fileBytes));
  out << QStringLiteral("  file: %1").arg(QString::fromStdString(m.path));
  out << QStringLiteral("  layers %1, heads %2/%3, head size %4, vocabulary %5, context %6 of %7")
             .arg(m.numLayers).arg(m.numHeads).arg(m.numKvHeads).arg(m.headDim).arg(m.vocabSize).arg(m.maxContext)
             .arg(m.trainedContext);
  out << QStringLiteral("  runs on: %1 · instruction set %2%3 · threads %4 · KV %5")
             .arg(QString::fromStdString(m.backend), QString::fromStdString(m.isa),
                  m.isaNote.empty() ? QString() : QStringLiteral(" (%1)").arg(QString::fromStdString(m.isaNote)))
             .arg(m.threads).arg(QLatin1String(engine::kvDTypeName(m.kvDtype)));
  out << QStringLiteral("  memory: weights %1, KV %2, scratch %3; loaded in %4")
             .arg(style::formatBytes(m.weightBytes), style::formatBytes(m.kvBytes), style::formatBytes(m.scratchBytes),
                  style::formatMs(m.loadMs));
}

void addKnobs(QStringList& out, const engine::EngineConfig& c) {
  out << QStringLiteral("knobs, load: isa %1, threads %2, max context %3, block size %4, KV memory %5, KV blocks %6, KV type %7")
             .arg(QLatin1String(engine::isaName(c.load.isa)), orDefault(c.load.threads), orDefault(c.load.maxContext))
             .arg(c.load.blockSize).arg(orDefault(c.load.kvMemoryBytes), orDefault(c.load.kvBlocks),
                                        QLatin1String(engine::kvDTypeName(c.load.kvDtype)));
  const auto& l = c.limits;
  out << QStringLiteral("knobs, live: max seqs %1, token budget %2, prefill chunk %3, long prefill %4, prefix cache %5, "
                        "batching %6, preemption %7, policy %8, speculation %9")
             .arg(l.maxSeqs).arg(l.maxBatchedTokens).arg(orDefault(l.prefillChunk), orDefault(l.longPrefillThreshold),
                                                         yesNo(l.prefixCache))
             .arg(int(l.batching)).arg(int(l.preemption)).arg(int(l.policy)).arg(int(l.speculation));
}

void addState(QStringList& out, const engine::EngineSnapshot& s) {
  static const char* const kStates[] = {"no model", "loading", "idle", "running", "paused", "failed"};
  out << QStringLiteral("engine: %1%2").arg(QLatin1String(kStates[std::size_t(s.state)]),
                                            s.failure.empty() ? QString() : QStringLiteral(" (%1)").arg(QString::fromStdString(s.failure)));
  if (s.model) addModel(out, *s.model);
  addKnobs(out, s.config);
  if (s.pool) {
    out << QStringLiteral("pool: %1 blocks of %2, used %3, cached %4, free %5")
               .arg(s.pool->numBlocks).arg(s.pool->blockSize).arg(s.pool->usedBlocks).arg(s.pool->cachedBlocks)
               .arg(s.pool->freeBlocks);
  }
  const auto& c = s.counters;
  out << QStringLiteral("counters: steps %1, prompt tokens %2, generated %3, preemptions %4, evictions %5, leaked blocks %6, "
                        "lost events %7")
             .arg(c.steps).arg(c.promptTokens).arg(c.generatedTokens).arg(c.preemptions).arg(c.evictions)
             .arg(c.leakedBlocks).arg(c.lostEvents);
}

}  // namespace

Machine readMachine() {
  Machine m;
  m.system = QStringLiteral("%1, %2 %3, %4").arg(QSysInfo::prettyProductName(), QSysInfo::kernelType(),
                                                 QSysInfo::kernelVersion(), QSysInfo::currentCpuArchitecture());
  m.processor = valueIn("/proc/cpuinfo", "model name");
  m.numCores = QThread::idealThreadCount();
  m.memoryBytes = memoryIn("MemTotal");
  m.freeBytes = memoryIn("MemAvailable");
  m.platform = QGuiApplication::platformName();
  QStringList screens;
  for (const QScreen* screen : QGuiApplication::screens()) {
    screens << QStringLiteral("%1×%2 at %3").arg(screen->size().width()).arg(screen->size().height()).arg(screen->devicePixelRatio());
  }
  m.screens = screens.join(QStringLiteral(", "));
  return m;
}

QString diagnosticsText(const DiagnosticsParts& parts) {
  const Machine& m = parts.machine;
  QStringList out;
  out << QStringLiteral("Tessera %1 · Qt %2 (%3)").arg(QCoreApplication::applicationVersion(), QLatin1String(qVersion()), m.platform);
  out << QStringLiteral("system: %1").arg(m.system);
  out << QStringLiteral("machine: %1 · %2 logical cores · memory %3, %4 free")
             .arg(m.processor.isEmpty() ? QStringLiteral("unknown processor") : m.processor).arg(m.numCores)
             .arg(style::formatBytes(m.memoryBytes), style::formatBytes(m.freeBytes));
  out << QStringLiteral("screens: %1").arg(m.screens);
  if (!parts.windowCost.isEmpty()) out << QStringLiteral("window: %1").arg(parts.windowCost);
  if (parts.engine) addState(out, *parts.engine);
  if (parts.log) {
    const std::size_t first = parts.log->size() - std::min(kLogLines, parts.log->size());
    out << QStringLiteral("log, last %1 of %2 lines:").arg(parts.log->size() - first).arg(parts.log->size());
    for (std::size_t i = first; i < parts.log->size(); ++i) out << QStringLiteral("  ") + toText((*parts.log)[i]);
  }
  QString text = out.join(QLatin1Char('\n')) + QLatin1Char('\n');
  if (!parts.homePath.isEmpty() && parts.homePath != QLatin1String("/")) {
    text.replace(parts.homePath + QLatin1Char('/'), QStringLiteral("~/"));
  }
  return text;
}

}  // namespace ui::models
