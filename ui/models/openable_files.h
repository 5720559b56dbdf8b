// What can be opened without looking for it: models and recorded runs in the program's own folders.
#pragma once

#include <QStringList>

namespace ui::models {

struct OpenableFiles {
  QStringList models;  // .gguf under ".../tessera/models", of a split one its first part
  QStringList runs;    // .trace under ".../tessera/runs"
};

// Looks in every data folder of the user and the system. A few files are listed, not hundreds.
OpenableFiles findOpenableFiles();

// `paths`, then the models found that are not among them.
QStringList withFoundModels(QStringList paths);

// "~/.local/share/tessera/models": where packaging/fetch-model puts the default model.
QString modelsFolder();

}  // namespace ui::models
