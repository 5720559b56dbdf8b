#include "ui/models/batch_explanation.h"

#include <QCoreApplication>

namespace ui::models {

namespace {

using engine::Reason;

QString tr(const char* text, int n = -1) {
  return QCoreApplication::translate("ui::models::BatchExplanation", text, nullptr, n);
}

QString labelOf(const engine::EngineSnapshot& snapshot, engine::RequestId id) {
  for (const engine::RequestSnapshot& request : snapshot.requests) {
    if (request.id == id) return QString::fromStdString(request.label);
  }
  return tr("request %1").arg(id.value);
}

ExplanationKind kindOf(Reason reason) {
  switch (reason) {
    case Reason::DecodeNext: return ExplanationKind::Decode;
    case Reason::Verify: return ExplanationKind::Verify;
    case Reason::PrefillChunk:
    case Reason::RecomputesPrefix:
    case Reason::ResumedFromSwap:
    case Reason::ResumedAfterPreemption: return ExplanationKind::Prefill;
    case Reason::PreemptedToSwap:
    case Reason::PreemptedSwapFull:
    case Reason::PreemptedForBlocks: return ExplanationKind::Preempted;
    case Reason::RefusedTooLong:
    case Reason::RefusedPoolTooSmall:
    case Reason::RefusedBadInput:
    case Reason::RefusedSequences:
    case Reason::RefusedTtft:
    case Reason::RefusedTpot:
    case Reason::FailedStep:
    case Reason::CancelledByUser: return ExplanationKind::Stopped;
    default: return ExplanationKind::Waits;
  }
}

}  // namespace

QString kindName(ExplanationKind kind) {
  switch (kind) {
    case ExplanationKind::Decode: return tr("decode");
    case ExplanationKind::Verify: return tr("verify");
    case ExplanationKind::Prefill: return tr("prefill");
    case ExplanationKind::Waits: return tr("waits");
    case ExplanationKind::Preempted: return tr("preempted");
    case ExplanationKind::Stopped: return tr("stopped");
  }
  return {};
}

std::vector<ExplanationLine> explainStep(const engine::EngineSnapshot& snapshot, int maxLines) {
  std::vector<ExplanationLine> lines;
  std::vector<const engine::Decision*> decoding;
  for (const engine::Decision& decision : snapshot.lastStep.decisions) {
    if (decision.reason == Reason::DecodeNext) decoding.push_back(&decision);
  }
  if (decoding.size() == 1) {
    lines.push_back({ExplanationKind::Decode,
                     tr("%1: one token").arg(labelOf(snapshot, decoding.front()->request)),
                     decoding.front()->request});
  } else if (!decoding.empty()) {
    lines.push_back({ExplanationKind::Decode,
                     tr("%1 running requests, 1 token each").arg(decoding.size()), engine::RequestId()});
  }
  for (const engine::Decision& decision : snapshot.lastStep.decisions) {
    if (decision.reason == Reason::DecodeNext || decision.reason == Reason::None) continue;
    const QString why = QString::fromStdString(engine::reasonText(decision.reason, decision.a, decision.b));
    lines.push_back({kindOf(decision.reason),
                     QStringLiteral("%1: %2").arg(labelOf(snapshot, decision.request), why),
                     decision.request});
  }
  if (static_cast<int>(lines.size()) > maxLines && maxLines > 0) {
    const int more = static_cast<int>(lines.size()) - maxLines + 1;
    lines.resize(static_cast<std::size_t>(maxLines));
    lines.back() = {lines.back().kind, tr("and %1 more").arg(more), engine::RequestId()};
  }
  return lines;
}

}  // namespace ui::models
