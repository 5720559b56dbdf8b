#include "ui/models/preferences.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <limits>

#include "engine/api/sampling_params.h"
#include "ui/models/chat_json.h"

namespace ui::models {

namespace {

// Reads numbers of one file and notes what cannot be.
class Reader {
 public:
  Reader(const QSettings& settings, QStringList& complaints) : m_settings(settings), m_complaints(complaints) {}

  template <typename Int>
  void number(const char* key, Int& out, qint64 low, qint64 high) {
    const QVariant stored = m_settings.value(QLatin1String(key));
    if (!stored.isValid()) return;
    bool isNumber = false;
    const qint64 value = stored.toLongLong(&isNumber);
    if (isNumber && value >= low && value <= high) {
      out = static_cast<Int>(value);
      return;
    }
    complain(QCoreApplication::translate("Settings", "The setting %1 is \"%2\"; it must be %3 to %4, and its default is used.")
                 .arg(QLatin1String(key), stored.toString().left(40)).arg(low).arg(high));
  }
  void complain(const QString& sentence) { m_complaints << sentence; }

 private:
  const QSettings& m_settings;
  QStringList& m_complaints;
};

void readEngine(Reader& reader, const QSettings& settings, engine::EngineConfig& config) {
  constexpr qint64 kMany = std::numeric_limits<qint64>::max() / 2;
  engine::EngineConfig read;
  auto& load = read.load;
  reader.number("engine/threads", load.threads, 0, 1024);
  reader.number("engine/isa", load.isa, 0, int(engine::kIsaKinds.back()));
  reader.number("engine/max_context", load.maxContext, 0, kMany);
  reader.number("engine/kv_memory", load.kvMemoryBytes, 0, kMany);
  reader.number("engine/kv_dtype", load.kvDtype, 0, int(engine::KvDType::Int4));
  reader.number("engine/block_size", load.blockSize, 1, 256);
  reader.number("engine/max_seqs", read.limits.maxSeqs, 1, 1'000'000);
  reader.number("engine/max_batched_tokens", read.limits.maxBatchedTokens, 1, 1'000'000);
  read.limits.prefixCache = settings.value(QStringLiteral("engine/prefix_cache"), true).toBool();
  engine::Result<void> checked = engine::checkLoadConfig(load);
  if (checked) checked = engine::checkSchedulerLimits(read.limits);
  if (checked) {
    config = read;
    return;
  }
  reader.complain(QCoreApplication::translate("Settings", "The engine's defaults in the settings cannot be used: %1.")
                      .arg(QString::fromStdString(checked.error().message)));
}

}  // namespace

Preferences readPreferences(const QSettings& settings, QStringList& complaints) {
  Preferences out;
  Reader reader(settings, complaints);
  reader.number("window/theme", out.theme, 0, int(style::ThemeMode::Dark));
  reader.number("window/text_size", out.textSize, Preferences::kSmallestText, Preferences::kLargestText);
  out.systemPrompt = settings.value(QStringLiteral("chat/system_prompt")).toString();
  const ChatSettings chat = settingsFromJson(settings.value(QStringLiteral("chat/settings")).toString());
  if (const auto checked = engine::checkSamplingParams(chat.sampling, 0); checked) {
    out.chat = chat;
  } else {
    reader.complain(QCoreApplication::translate("Settings", "The sampling in the settings cannot be used: %1.")
                        .arg(QString::fromStdString(checked.error().message)));
  }
  readEngine(reader, settings, out.engine);
  return out;
}

void writePreferences(QSettings& settings, const Preferences& p) {
  const auto set = [&settings](const char* key, const QVariant& value) { settings.setValue(QLatin1String(key), value); };
  set("window/theme", int(p.theme));
  set("window/text_size", p.textSize);
  set("chat/system_prompt", p.systemPrompt);
  set("chat/settings", settingsToJson(p.chat));
  set("engine/threads", p.engine.load.threads);
  set("engine/isa", int(p.engine.load.isa));
  set("engine/max_context", qint64(p.engine.load.maxContext));
  set("engine/kv_memory", qint64(p.engine.load.kvMemoryBytes));
  set("engine/kv_dtype", int(p.engine.load.kvDtype));
  set("engine/block_size", p.engine.load.blockSize);
  set("engine/max_seqs", p.engine.limits.maxSeqs);
  set("engine/max_batched_tokens", p.engine.limits.maxBatchedTokens);
  set("engine/prefix_cache", p.engine.limits.prefixCache);
  settings.sync();
}

}  // namespace ui::models
