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
  const auto explain = [&box](engine::IsaKind isa, const QString& text) {
    box.setItemData(box.findData(int(isa)), text, Qt::ToolTipRole);
  };
  explain(engine::IsaKind::AmxBf16,
          QCoreApplication::translate("LoadChoices",
                                      "Weights and activations as bf16, close to float32: prompts are read fast, many users served fast."));
  explain(engine::IsaKind::Amx,
          QCoreApplication::translate("LoadChoices", "Activations as int8: a single answer may come faster, the rest slower."));
}

}  // namespace ui::panels
