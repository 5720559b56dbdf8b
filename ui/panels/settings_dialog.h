// The program's settings: how it looks, what new chats begin with, what models are opened with.
#pragma once

#include <QDialog>

#include "ui/models/preferences.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;
class QTabWidget;

namespace ui::panels {

// Where things are kept; shown, not changed.
struct KeptPlaces {
  QString chats, settings;
};

// Ui thread only. Looks change at once, also back on Cancel; the rest holds from Save on.
class SettingsDialog : public QDialog {
  Q_OBJECT

 public:
  SettingsDialog(const models::Preferences& preferences, const KeptPlaces& places, QWidget* parent = nullptr);

  models::Preferences preferences() const;
  QString error() const;
  QTabWidget& tabs() { return *m_tabs; }
  QPushButton& saveButton() { return *m_save; }
  QPushButton& cancelButton() { return *m_cancel; }

 signals:
  // Theme or text size as they stand in the dialog, to be seen at once.
  void lookChanged(ui::style::ThemeMode theme, int textSize);

 private:
  QWidget* makeLook(const KeptPlaces& places);
  QWidget* makeChats();
  QWidget* makeEngine();
  void layOutWidgets();
  void check();
  void restoreDefaults();
  void showPreferences(const models::Preferences& preferences);

  models::Preferences m_initial;
  QTabWidget* m_tabs;
  QComboBox *m_theme, *m_isa, *m_kvDtype, *m_blockSize;
  QSpinBox *m_textSize, *m_topK, *m_maxTokens, *m_threads, *m_context, *m_kvMegabytes, *m_maxSeqs, *m_budget;
  QDoubleSpinBox *m_temperature, *m_topP, *m_minP, *m_repetition;
  QCheckBox* m_prefixCache;
  QPlainTextEdit* m_system;
  QLabel* m_error;
  QPushButton *m_save, *m_cancel, *m_defaults;
};

}  // namespace ui::panels
