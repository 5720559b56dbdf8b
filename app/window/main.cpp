// tessera: the window.
#include <QApplication>
#include <csignal>
#include <cstdio>

#include "app/window/application.h"
#include "app/window/window_options.h"

int main(int argc, char** argv) {
  // a file at the size that the system allows is a failed write, told like any other
  std::signal(SIGXFSZ, SIG_IGN);
  const auto parsed = app::window::parseWindowOptions(argc, argv);
  if (!parsed.options) {
    std::fputs(parsed.text.c_str(), parsed.exitCode == 0 ? stdout : stderr);
    return parsed.exitCode;
  }
  if (parsed.options->isOffscreen) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication qtApp(argc, argv);
  QApplication::setApplicationName(QStringLiteral("tessera"));
  QApplication::setApplicationDisplayName(QStringLiteral("Tessera"));
  QApplication::setApplicationVersion(QStringLiteral("0.1.0"));
  app::window::Application application(qtApp, *parsed.options);
  if (const auto exitCode = application.start()) return *exitCode;
  return QApplication::exec();
}
