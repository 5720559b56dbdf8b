// A tiny model that `tessera-cli run` serves workloads on, for tests of what becomes of them.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <QString>
#include <QTemporaryDir>

#include "kernels/core/dtype.h"
#include "tests/support/cli_runner.h"
#include "tests/support/tiny_model.h"

namespace test_support {

using Strings = std::vector<std::string>;

// To be named by a using-declaration: std::vector's own namespace has none.
inline Strings operator+(Strings left, const Strings& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// Arguments as a person types them, by spaces.
inline Strings lineOf(const QString& words) {
  Strings all;
  for (const QString& word : words.split(' ', Qt::SkipEmptyParts)) {
    all.push_back(word.toStdString());
  }
  return all;
}

// Inline: the tests link app_cli, the support library does not.
class CliWorkload {
 public:
  // Writes the model: quantised, a context of 256.
  CliWorkload() : m_model(path("tiny.gguf")) {
    writeTinyModel(withType(spec(), kernels::DType::Q4_1), m_model);
  }

  static TinyModelSpec spec() {
    TinyModelSpec spec;
    spec.context = 256;
    return spec;
  }

  const std::string& model() const { return m_model; }

  std::string folder() const { return m_folder.path().toStdString(); }

  std::string path(const char* name) const { return folder() + "/" + name; }

  // All requests at once; flags in `arguments` win over those given here.
  CliOutcome run(const Strings& arguments, const std::string& workload) const {
    const Strings common = {
        "run",         "--json", "--model", m_model, "--workload", "-", "--as-fast-as-possible",
        "--kv-blocks", "256"};
    return runCli(common + arguments, workload);
  }

  // The document; throws when there is none.
  nlohmann::json documentOf(const Strings& arguments, const std::string& workload) const {
    const CliOutcome outcome = run(arguments, workload);
    if (outcome.exitCode != 0) throw std::runtime_error(outcome.err);
    return outcome.json();
  }

 private:
  QTemporaryDir m_folder;
  std::string m_model;
};

}  // namespace test_support
