#include "ui/panels/load_choices.h"

#include <QComboBox>
#include <QCoreApplication>

#include "engine/api/engine_config.h"

namespace ui::panels {

void addKvTypes(QComboBox& box) {
  using engine::KvDType;
  box.addItem(QCoreApplication::translate("LoadChoices", "default"), int(KvDType::Default));
  for (auto dtype : {KvDType::F32, KvDType::F16, KvDType::BF16, KvDType::Fp8, KvDType::Int8, KvDType::Int4}) {
    box.addItem(QString::fromLatin1(engine::kvDTypeName(dtype)), int(dtype));
  }
}

void addInstructionSets(QComboBox& box) {
  for (auto isa : engine::kIsaKinds) {
    box.addItem(QString::fromLatin1(engine::isaName(isa)), int(isa));
  }
  const QString forMany = QCoreApplication::translate(
      "LoadChoices", "Weights and activations as bf16: prompts are read faster and many users served faster; one answer comes slower.");
  box.setItemData(box.findData(int(engine::IsaKind::AmxBf16)), forMany, Qt::ToolTipRole);
}

}  // namespace ui::panels
