#include "app/window/window_options.h"

#include <CLI/CLI.hpp>
#include <QStringList>
#include <sstream>

namespace app::window {

namespace {

constexpr int kSmallest = 480, kLargest = 8192;
constexpr const char* kVersion = "0.1.0";

// "1280x800" -> size; null when it is something else.
std::optional<QSize> sizeOf(const std::string& text) {
  const QStringList parts = QString::fromStdString(text).split(QLatin1Char('x'));
  if (parts.size() != 2) return std::nullopt;
  bool isWidth = false, isHeight = false;
  const QSize size(parts[0].toInt(&isWidth), parts[1].toInt(&isHeight));
  const bool fits = size.width() >= kSmallest && size.height() >= kSmallest && size.width() <= kLargest &&
                    size.height() <= kLargest;
  return isWidth && isHeight && fits ? std::optional<QSize>(size) : std::nullopt;
}

}  // namespace

ParsedOptions parseWindowOptions(int argc, char** argv) {
  WindowOptions options;
  std::string model, pictures, size;
  CLI::App app{"Tessera: serves large language models with its own engine and shows how.", "tessera"};
  app.set_version_flag("--version", kVersion);
  app.add_option("FILE", model, "a model (GGUF) or a recorded run to open; a window that runs already takes it");
  app.add_flag("--offscreen", options.isOffscreen, "without a display");
  app.add_flag("--script-chat", options.isScripted, "play a chat by itself, print the answers, exit");
  app.add_option("--pictures", pictures, "folder for pictures of the scripted chat");
  app.add_flag("--every-view", options.isEveryView, "with --pictures: of every view, table and dialog too");
  app.add_option("--size", size, "WxH of the window and its pictures");
  std::ostringstream out, err;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e, out, err) == 0 ? 0 : 2;
    return {std::nullopt, out.str() + err.str(), code};
  }
  if (!pictures.empty() && !options.isScripted) {
    return {std::nullopt, "--pictures is of a scripted chat: it needs --script-chat.\n", 2};
  }
  if (options.isEveryView && pictures.empty()) {
    return {std::nullopt, "--every-view is of pictures: it needs --pictures.\n", 2};
  }
  if (!size.empty()) {
    const auto parsed = sizeOf(size);
    if (!parsed) {
      return {std::nullopt, "--size is \"" + size + "\"; it must be WxH, each from 480 to 8192.\n", 2};
    }
    options.sizes = {*parsed};
  }
  options.modelPath = QString::fromLocal8Bit(model.c_str());
  options.pictureFolder = QString::fromLocal8Bit(pictures.c_str());
  return {options, {}, 0};
}

}  // namespace app::window
