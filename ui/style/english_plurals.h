// English for texts that count: "%n token(s)" becomes "1 token" or "2 tokens" without a catalogue.
#pragma once

#include <QTranslator>

namespace ui::style {

// Install first; catalogues of other languages, installed later, are asked before it.
class EnglishPlurals : public QTranslator {
  Q_OBJECT

 public:
  using QTranslator::QTranslator;

  QString translate(const char* context, const char* source, const char* disambiguation, int n) const override;
  bool isEmpty() const override { return false; }
};

}  // namespace ui::style
