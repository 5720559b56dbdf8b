// One chat's system prompt and sampling settings, each with its range; wrong values are said in place.
#pragma once

#include <QDialog>

#include "ui/models/chat_record.h"

class QCheckBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QSpinBox;

namespace ui::panels {

class ChatSettingsDialog : public QDialog {
  Q_OBJECT

 public:
  ChatSettingsDialog(const QString& systemPrompt, const models::ChatSettings& settings, QWidget* parent = nullptr);

  QString systemPrompt() const;
  models::ChatSettings settings() const;
  void focusSystemPrompt();

  // Checks against the engine's ranges first; stays open with one sentence when something is off.
  void accept() override;

 private:
  void buildWidgets(const QString& systemPrompt, const models::ChatSettings& settings);
  void layOutWidgets();
  void connectWidgets();
  void alignNumbers();
  QDoubleSpinBox* addNumber(const QString& name, double value, double low, double high, const QString& hint);

  models::ChatSettings m_initial;
  QFormLayout* m_form;
  QPlainTextEdit *m_system, *m_stop, *m_tools;
  QDoubleSpinBox *m_temperature, *m_topP, *m_minP, *m_repetition, *m_presence, *m_frequency;
  QSpinBox *m_topK, *m_maxTokens;
  QCheckBox* m_seedFixed;
  QLineEdit* m_seed;
  QLabel* m_error;
};

}  // namespace ui::panels
