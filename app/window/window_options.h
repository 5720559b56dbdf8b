// The command line of the window: tessera [FILE] [--offscreen] [--script-chat --pictures DIR].
#pragma once

#include <QSize>
#include <QString>
#include <optional>
#include <string>
#include <vector>

namespace app::window {

struct WindowOptions {
  QString modelPath;        // a model or a recorded run; empty = the last model
  bool isOffscreen = false;
  bool isScripted = false;  // plays a chat by itself and ends
  QString pictureFolder;    // of a scripted run; empty = no pictures
  bool isEveryView = false; // pictures of all that the window can show, not of the perspectives alone
  std::vector<QSize> sizes = {QSize(1280, 800), QSize(1920, 1080)};
};

struct ParsedOptions {
  std::optional<WindowOptions> options;  // none: print `text` and exit with `exitCode`
  std::string text;
  int exitCode = 0;
};

// Exit code 2 for an unknown flag or a value out of range, as everywhere.
ParsedOptions parseWindowOptions(int argc, char** argv);

}  // namespace app::window
