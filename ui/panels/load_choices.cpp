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
  using engine::IsaKind;
  for (auto isa : {IsaKind::Auto, IsaKind::Reference, IsaKind::Avx2, IsaKind::AvxVnni, IsaKind::Avx512Vnni,
                   IsaKind::Amx}) {
    box.addItem(QString::fromLatin1(engine::isaName(isa)), int(isa));
  }
}

}  // namespace ui::panels
