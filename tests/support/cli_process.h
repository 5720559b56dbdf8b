// Runs tessera-cli as a process of its own: for what a process alone has, such as its streams and its
// limits.
#pragma once

#include <string>

#include <QFile>
#include <QProcess>
#include <QProcessEnvironment>
#include <QStringList>

#include "tests/support/cli_runner.h"

namespace test_support {

// Empty when the program was not built.
inline QString cliProgram() {
  const QString path = qEnvironmentVariable("TESSERA_BINARY_DIR") + "/tessera-cli";
  return QFile::exists(path) ? path : QString();
}

// `shell` is a line for /bin/sh in which $0 is the program and $@ the arguments: "ulimit -v 500000; exec
// \"$0\" \"$@\"". An exit code of -1 is a crash or a minute without an end.
inline CliOutcome runCliProcess(const QString& shell, const QStringList& arguments, const QByteArray& input = {}) {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  if (!environment.contains("TESSERA_PACKED_CACHE")) environment.insert("TESSERA_PACKED_CACHE", "off");
  process.setProcessEnvironment(environment);
  process.start("/bin/sh", QStringList{"-c", shell, cliProgram()} + arguments);
  process.write(input);
  process.closeWriteChannel();
  CliOutcome outcome;
  if (!process.waitForFinished(60'000)) {
    process.kill();
    process.waitForFinished();
    outcome.err = "no end within a minute";
    return outcome;
  }
  outcome.exitCode = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
  outcome.out = process.readAllStandardOutput().toStdString();
  outcome.err = process.readAllStandardError().toStdString();
  return outcome;
}

}  // namespace test_support
