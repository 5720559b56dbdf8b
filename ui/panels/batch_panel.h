// The batch strip with its figure.
#pragma once

#include "ui/panels/view_card.h"
#include "ui/panels/view_parts.h"

namespace ui::views {
class BatchStripView;
class KeyView;
}

namespace ui::panels {

// Ui thread only.
class BatchPanel : public ViewCard {
  Q_OBJECT

 public:
  explicit BatchPanel(const ViewParts& parts, QWidget* parent = nullptr);

  views::BatchStripView& strip() { return *m_strip; }

 protected:
  void refreshView() override;

 private:
  models::RunRecord& m_record;
  views::BatchStripView* m_strip;
  views::KeyView* m_key;
};

}  // namespace ui::panels
