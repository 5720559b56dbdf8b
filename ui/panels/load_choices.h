// The choices of a load that more than one dialog offers.
#pragma once

class QComboBox;

namespace ui::panels {

// Each item's data is the enumerator as int. Ui thread only.
void addKvTypes(QComboBox& box);          // "default" first
void addInstructionSets(QComboBox& box);  // "auto" first

}  // namespace ui::panels
