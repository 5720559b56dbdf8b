// Every engine knob: live ones act from the next step, the others show what memory they would take first.
#pragma once

#include <optional>
#include <vector>

#include "engine/api/engine_config.h"
#include "engine/api/message.h"
#include "ui/bridge/frame.h"
#include "ui/models/knob_list.h"
#include "ui/panels/view_card.h"
#include "ui/panels/view_parts.h"

class QGridLayout;
class QLabel;
class QPushButton;

namespace ui::panels {

class ScrollColumn;

// Ui thread only. Read as a table, it lists the changes so far.
class KnobsPanel : public ViewCard {
  Q_OBJECT

 public:
  explicit KnobsPanel(const ViewParts& parts, QWidget* parent = nullptr);

  // As if typed and confirmed. One sentence when it is refused here; the engine may still refuse it.
  QString turn(const QString& knob, const QString& value);
  // What a reload would begin with.
  const engine::EngineConfig& wanted() const { return m_wanted; }
  QString error() const;
  QString effectOnMemory() const;
  QWidget* editorOf(const QString& knob) const;

 signals:
  void reloadWanted(const engine::EngineConfig& config);

 protected:
  void refreshView() override;
  void changeEvent(QEvent* event) override;

 private:
  struct Row {
    const models::Knob* knob;
    QWidget* editor;
  };

  QWidget* buildRows();
  QWidget* buildReload();
  void addRow(QGridLayout& grid, int place, const models::Knob& knob);
  QWidget* makeEditor(const models::Knob& knob);
  void showValue(const Row& row);
  void showValues();
  void showError(const QString& sentence);
  void onFrame(const bridge::Frame& frame);
  void askMemory();
  void showMemory();
  void discard();
  bool needsReload() const { return !(m_wanted.load == m_shown.load); }
  QString reloadText() const;

  bridge::EngineBridge& m_bridge;
  models::RunRecord& m_record;
  std::vector<Row> m_rows;
  engine::EngineConfig m_shown;   // the engine's own
  engine::EngineConfig m_wanted;  // with what was turned and not applied
  std::size_t m_numChangesShown = 0;
  bool m_awaitsAnswer = false;    // limits were sent; a refusal would come as a notice
  std::uint64_t m_memoryAsked = 0;
  std::optional<engine::MemoryEstimate> m_memoryNow, m_memoryWanted;
  QWidget* m_reload;
  ScrollColumn* m_rowsColumn;
  QLabel *m_last, *m_reloadText, *m_memory;
  QPushButton *m_apply, *m_discard;
};

}  // namespace ui::panels
