#include "ui/models/chat_json.h"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocale>
#include <QStringList>
#include <cmath>

namespace ui::models {

namespace {

QString compact(const QJsonObject& object) {
  return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact));
}

QJsonObject parse(const QString& json) { return QJsonDocument::fromJson(json.toUtf8()).object(); }

// A float as the user typed it: 0.7, not 0.699999988.
double tidy(float value) { return std::round(double(value) * 1e6) / 1e6; }

void read(const QJsonObject& o, const char* key, float& out) {
  const QJsonValue v = o.value(QLatin1String(key));
  if (v.isDouble()) out = static_cast<float>(v.toDouble());
}

void read(const QJsonObject& o, const char* key, double& out) {
  out = o.value(QLatin1String(key)).toDouble(out);
}

template <typename Int>
void readInt(const QJsonObject& o, const char* key, Int& out) {
  out = static_cast<Int>(o.value(QLatin1String(key)).toInteger(out));
}

}  // namespace

ChatSettings defaultChatSettings() {
  ChatSettings settings;
  settings.sampling.temperature = 0.7f;
  settings.sampling.topP = 0.9f;
  settings.sampling.maxTokens = 1024;
  return settings;
}

QString settingsToJson(const ChatSettings& settings) {
  const auto& s = settings.sampling;
  QJsonArray stop;
  for (const auto& text : s.stop) stop.append(QString::fromStdString(text));
  return compact({{"temperature", tidy(s.temperature)},
                  {"top_k", qint64(s.topK)},
                  {"top_p", tidy(s.topP)},
                  {"min_p", tidy(s.minP)},
                  {"repetition_penalty", tidy(s.repetitionPenalty)},
                  {"presence_penalty", tidy(s.presencePenalty)},
                  {"frequency_penalty", tidy(s.frequencyPenalty)},
                  {"seed", QString::number(s.seed)},  // 64 bits do not fit a JSON number
                  {"seed_fixed", settings.isSeedFixed},
                  {"max_tokens", qint64(s.maxTokens)},
                  {"tools", settings.toolsJson},
                  {"stop", stop}});
}

ChatSettings settingsFromJson(const QString& json) {
  ChatSettings settings = defaultChatSettings();
  auto& s = settings.sampling;
  const QJsonObject o = parse(json);
  read(o, "temperature", s.temperature);
  readInt(o, "top_k", s.topK);
  read(o, "top_p", s.topP);
  read(o, "min_p", s.minP);
  read(o, "repetition_penalty", s.repetitionPenalty);
  read(o, "presence_penalty", s.presencePenalty);
  read(o, "frequency_penalty", s.frequencyPenalty);
  s.seed = o.value(QLatin1String("seed")).toString().toULongLong();
  settings.isSeedFixed = o.value(QLatin1String("seed_fixed")).toBool(false);
  readInt(o, "max_tokens", s.maxTokens);
  settings.toolsJson = o.value(QLatin1String("tools")).toString();
  for (const QJsonValue& text : o.value(QLatin1String("stop")).toArray()) {
    if (!text.toString().isEmpty()) s.stop.push_back(text.toString().toStdString());
  }
  return settings;
}

QString whatIsWrongWithTools(const QString& json) {
  if (json.trimmed().isEmpty()) return {};
  const auto say = [](const char* text) { return QCoreApplication::translate("ChatSettings", text); };
  QJsonParseError error;
  const QJsonDocument document = QJsonDocument::fromJson(json.toUtf8(), &error);
  if (error.error != QJsonParseError::NoError) {
    return say("The tools are not JSON at character %1: %2.").arg(error.offset).arg(error.errorString());
  }
  if (!document.isArray()) return say("The tools are not a JSON list: they begin with [ and hold one object for each tool.");
  const QJsonArray tools = document.array();
  for (qsizetype i = 0; i < tools.size(); ++i) {
    const QJsonObject tool = tools[i].toObject();
    const QJsonObject function = tool.value(QLatin1String("function")).toObject();
    const bool hasName = !tool.value(QLatin1String("name")).toString().isEmpty() ||
                         !function.value(QLatin1String("name")).toString().isEmpty();
    if (!hasName) return say("Tool %1 of the list has no \"name\".").arg(i + 1);
  }
  return {};
}

QString statsToJson(const AnswerStats& a) {
  return compact({{"prompt_tokens", a.promptTokens},
                  {"cached_tokens", a.cachedTokens},
                  {"completion_tokens", a.completionTokens},
                  {"ttft_ms", a.ttftMs},
                  {"prefill_ms", a.prefillMs},
                  {"decode_ms", a.decodeMs},
                  {"prefill_chunks", a.prefillChunks},
                  {"kv_blocks", a.kvBlocks},
                  {"shared_blocks", a.sharedBlocks},
                  {"preemptions", a.preemptions},
                  {"sampling", a.sampling}});
}

AnswerStats statsFromJson(const QString& json) {
  AnswerStats a;
  const QJsonObject o = parse(json);
  readInt(o, "prompt_tokens", a.promptTokens);
  readInt(o, "cached_tokens", a.cachedTokens);
  readInt(o, "completion_tokens", a.completionTokens);
  read(o, "ttft_ms", a.ttftMs);
  read(o, "prefill_ms", a.prefillMs);
  read(o, "decode_ms", a.decodeMs);
  readInt(o, "prefill_chunks", a.prefillChunks);
  readInt(o, "kv_blocks", a.kvBlocks);
  readInt(o, "shared_blocks", a.sharedBlocks);
  readInt(o, "preemptions", a.preemptions);
  a.sampling = o.value(QLatin1String("sampling")).toString();
  return a;
}

namespace {

QStringList samplingParts(const engine::SamplingParams& s) {
  const QLocale locale;
  const auto number = [&locale](float v) { return locale.toString(tidy(v), 'g', 4); };
  QStringList parts;
  if (s.repetitionPenalty != 1.0f) parts << QStringLiteral("repetition ") + number(s.repetitionPenalty);
  if (s.presencePenalty != 0.0f) parts << QStringLiteral("presence ") + number(s.presencePenalty);
  if (s.frequencyPenalty != 0.0f) parts << QStringLiteral("frequency ") + number(s.frequencyPenalty);
  parts << QStringLiteral("T ") + number(s.temperature);
  if (s.temperature > 0) {
    if (s.topK > 0) parts << QStringLiteral("top-k ") + QString::number(s.topK);
    if (s.topP < 1.0f) parts << QStringLiteral("top-p ") + number(s.topP);
    if (s.minP > 0.0f) parts << QStringLiteral("min-p ") + number(s.minP);
  }
  return parts;
}

const QString kDot = QStringLiteral(" · ");

}  // namespace

QString samplingText(const engine::SamplingParams& sampling) {
  QStringList parts = samplingParts(sampling);
  if (sampling.temperature > 0) parts << QStringLiteral("seed ") + QString::number(sampling.seed);
  return parts.join(kDot);
}

QString samplingText(const ChatSettings& settings) {
  return settings.isSeedFixed ? samplingText(settings.sampling) : samplingParts(settings.sampling).join(kDot);
}

}  // namespace ui::models
