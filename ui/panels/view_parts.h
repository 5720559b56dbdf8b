// What a panel with a view stands on.
#pragma once

namespace ui::bridge {
class EngineBridge;
class Selection;
}  // namespace ui::bridge
namespace ui::models {
class RunRecord;
}

namespace ui::panels {

// All must outlive the panel.
struct ViewParts {
  bridge::EngineBridge& bridge;
  bridge::Selection& selection;
  models::RunRecord& record;
};

}  // namespace ui::panels
