// "This answer": the figures of the shown answer, live while it is being written.
#pragma once

#include <QFrame>
#include <array>

#include "ui/models/answer_streams.h"

class QLabel;

namespace ui::panels {

class AnswerCard : public QFrame {
  Q_OBJECT

 public:
  explicit AnswerCard(QWidget* parent = nullptr);

  // `totalBlocks` of the pool, 0 when unknown.
  void showStats(const models::AnswerStats& stats, qint64 totalBlocks);
  void clear();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void fitText();
  enum Line { Prompt, Prefill, Decode, KvBlocks, Sampling, NumLines };
  void setLine(Line line, const QString& text);

  std::array<QLabel*, NumLines> m_values{};
};

}  // namespace ui::panels
