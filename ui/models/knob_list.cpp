#include "ui/models/knob_list.h"

#include <QCoreApplication>
#include <QLocale>

namespace ui::models {

namespace {

using engine::EngineConfig;

QString tr(const char* text) { return QCoreApplication::translate("ui::models::KnobList", text); }

bool parseWhole(const QString& text, qint64& value) {
  bool isWhole = false;
  value = text.toLongLong(&isWhole);
  return isWhole;
}

// "512M" as on the command line: binary units.
bool parseBytes(const QString& text, qint64& value) {
  const int unit = static_cast<int>(QStringLiteral("KMG").indexOf(text.right(1).toUpper()));
  const bool hasUnit = !text.isEmpty() && unit >= 0;
  const int shift = hasUnit ? 10 * (unit + 1) : 0;
  if (!parseWhole(hasUnit ? text.chopped(1) : text, value)) return false;
  if (value > (std::numeric_limits<qint64>::max() >> shift)) return false;
  value <<= shift;
  return true;
}

QString bytesText(qint64 bytes) {
  constexpr const char* kUnits[] = {"", "K", "M", "G"};
  int unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit < 3) {
    bytes /= 1024;
    ++unit;
  }
  return QString::number(bytes) + QLatin1String(kUnits[unit]);
}

// `part`: whether a member of EngineConfig::load or ::limits is meant.
template <typename Part, typename T>
Knob whole(const char* name, const QString& actsOn, Part EngineConfig::*part, T Part::*member) {
  return {QLatin1String(name), actsOn, std::is_same_v<Part, engine::SchedulerLimits>, KnobKind::Whole, {},
          [=](const EngineConfig& config) { return QString::number(config.*part.*member); },
          [=](EngineConfig& config, const QString& text) {
            qint64 value = 0;
            if (!parseWhole(text, value)) return false;
            // what does not fit is far out of every range: the check says so
            config.*part.*member = static_cast<T>(std::clamp<qint64>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
            return true;
          }};
}

Knob bytes(const char* name, const QString& actsOn, std::int64_t engine::LoadConfig::*member) {
  return {QLatin1String(name), actsOn, false, KnobKind::Bytes, {},
          [=](const EngineConfig& config) { return bytesText(config.load.*member); },
          [=](EngineConfig& config, const QString& text) {
            qint64 value = 0;
            if (!parseBytes(text, value)) return false;
            config.load.*member = value;
            return true;
          }};
}

template <typename Part, typename T>
Knob choice(const char* name, const QString& actsOn, Part EngineConfig::*part, T Part::*member, const QStringList& choices) {
  constexpr bool isSwitch = std::is_same_v<T, bool>;
  return {QLatin1String(name), actsOn, std::is_same_v<Part, engine::SchedulerLimits>,
          isSwitch ? KnobKind::Switch : KnobKind::Choice, choices,
          [=](const EngineConfig& config) { return choices[static_cast<int>(config.*part.*member)]; },
          [=](EngineConfig& config, const QString& text) {
            const qsizetype index = choices.indexOf(text);
            if (index < 0) return false;
            config.*part.*member = static_cast<T>(index);
            return true;
          }};
}

std::vector<Knob> liveKnobs() {
  using L = engine::SchedulerLimits;
  const auto part = &EngineConfig::limits;
  const QStringList onOff{QStringLiteral("off"), QStringLiteral("on")};
  const Knob delay{QStringLiteral("queue-delay-ms"), tr("TTFT of dynamic batches"), true, KnobKind::Number, {},
                   [](const EngineConfig& config) { return QString::number(config.limits.queueDelayMs, 'g', 10); },
                   [](EngineConfig& config, const QString& text) {
                     bool isNumber = false;
                     config.limits.queueDelayMs = text.toDouble(&isNumber);
                     return isNumber;
                   }};
  return {
      choice("batching", tr("TPOT, throughput"), part, &L::batching,
             {QStringLiteral("continuous"), QStringLiteral("static"), QStringLiteral("dynamic")}),
      whole("max-batch", tr("size of static and dynamic batches"), part, &L::maxBatch),
      delay,
      whole("max-seqs", tr("throughput, queue"), part, &L::maxSeqs),
      whole("max-batched-tokens", tr("token budget of a step: TTFT, TPOT"), part, &L::maxBatchedTokens),
      whole("prefill-chunk", tr("TTFT, TPOT (0: the budget)"), part, &L::prefillChunk),
      whole("long-prefill-threshold", tr("TTFT of short prompts (0: off)"), part, &L::longPrefillThreshold),
      choice("prefix-cache", tr("TTFT of shared prompts"), part, &L::prefixCache, onOff),
      choice("preemption", tr("what a full pool costs"), part, &L::preemption,
             {QStringLiteral("recompute"), QStringLiteral("swap")}),
      choice("policy", tr("who goes first: goodput"), part, &L::policy,
             {QStringLiteral("fcfs"), QStringLiteral("priority"), QStringLiteral("slo")}),
      choice("speculate", tr("TPOT"), part, &L::speculation,
             {QStringLiteral("off"), QStringLiteral("ngram"), QStringLiteral("draft")}),
      whole("speculative-tokens", tr("tokens guessed a pass"), part, &L::speculativeTokens),
      choice("speculate-adaptive", tr("guesses less where little is accepted"), part, &L::speculateAdaptive, onOff),
  };
}

std::vector<Knob> reloadKnobs() {
  using L = engine::LoadConfig;
  const auto part = &EngineConfig::load;
  const QStringList onOff{QStringLiteral("off"), QStringLiteral("on")};
  QStringList isas;
  for (const engine::IsaKind isa : engine::kIsaKinds) isas << QString::fromLatin1(engine::isaName(isa));
  const Knob draft{QStringLiteral("draft-model"), tr("what guesses: TPOT, memory"), false, KnobKind::Path, {},
                   [](const EngineConfig& config) { return QString::fromStdString(config.load.draftModelPath); },
                   [](EngineConfig& config, const QString& text) {
                     config.load.draftModelPath = text.toStdString();
                     return true;
                   }};
  return {
      choice("device", tr("speed, memory"), part, &L::device,
             {QStringLiteral("auto"), QStringLiteral("cpu"), QStringLiteral("cuda")}),
      choice("isa", tr("speed, precision"), part, &L::isa, isas),
      whole("threads", tr("speed (0: physical cores)"), part, &L::threads),
      whole("max-context", tr("longest request (0: the model's)"), part, &L::maxContext),
      choice("allocator", tr("waste"), part, &L::allocator, {QStringLiteral("paged"), QStringLiteral("contiguous")}),
      whole("block-size", tr("waste, shared prefixes"), part, &L::blockSize),
      bytes("kv-memory", tr("users, memory (0: a quarter of what is free)"), &L::kvMemoryBytes),
      whole("kv-blocks", tr("users, memory (0: from kv-memory)"), part, &L::kvBlocks),
      choice("kv-dtype", tr("users, memory, quality"), part, &L::kvDtype,
             {QStringLiteral("default"), QStringLiteral("f32"), QStringLiteral("f16"), QStringLiteral("bf16"),
              QStringLiteral("fp8"), QStringLiteral("int8"), QStringLiteral("int4")}),
      choice("kv-cache", tr("speed: off recomputes the prefix each step"), part, &L::kvCache, onOff),
      bytes("swap-memory", tr("what preemption costs"), &L::swapMemoryBytes),
      draft,
  };
}

QString takesOf(const Knob& knob) {
  switch (knob.kind) {
    case KnobKind::Whole: return tr("a whole number");
    case KnobKind::Number: return tr("a number");
    case KnobKind::Bytes: return tr("bytes, with K, M or G");
    default: return knob.choices.join(QStringLiteral(", "));
  }
}

}  // namespace

const std::vector<Knob>& allKnobs() {
  static const std::vector<Knob> knobs = [] {
    std::vector<Knob> all = liveKnobs();
    for (Knob& knob : reloadKnobs()) all.push_back(std::move(knob));
    return all;
  }();
  return knobs;
}

const Knob* findKnob(QLatin1String name) {
  for (const Knob& knob : allKnobs()) {
    if (knob.name == name) return &knob;
  }
  return nullptr;
}

QString turnKnob(const Knob& knob, const QString& value, EngineConfig& config) {
  EngineConfig wanted = config;
  const QString typed = value.trimmed();
  if (!knob.take(wanted, typed)) {
    return tr("%1 is %2; it takes %3").arg(knob.name, typed.isEmpty() ? tr("empty") : typed, takesOf(knob));
  }
  const auto checked = knob.isLive ? engine::checkSchedulerLimits(wanted.limits) : engine::checkLoadConfig(wanted.load);
  if (!checked) return QString::fromStdString(checked.error().message);
  config = wanted;
  return {};
}

}  // namespace ui::models
