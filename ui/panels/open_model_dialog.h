// Opening a model: the file, what is fixed with it, and an itemised memory estimate before anything loads.
#pragma once

#include <QDialog>
#include <QTimer>

#include "ui/bridge/engine_bridge.h"

class QComboBox;
class QFormLayout;
class QLabel;
class QPushButton;
class QSpinBox;
class QTableWidget;

namespace ui::panels {

// Ui thread only. The estimate follows every change; a load that does not fit is still offered.
class OpenModelDialog : public QDialog {
  Q_OBJECT

 public:
  // `bridge` must outlive the dialog.
  OpenModelDialog(bridge::EngineBridge& bridge,
                  const engine::EngineConfig& initial,
                  const QStringList& recent,
                  QWidget* parent = nullptr);

  engine::EngineConfig config() const;
  void setPath(const QString& path);
  // The last load's failure, shown in place.
  void setError(const QString& sentence);
  QString error() const;
  QPushButton& loadButton() { return *m_load; }
  QTableWidget& estimateTable() { return *m_table; }

 private:
  void buildWidgets(const engine::EngineConfig& initial, const QStringList& recent);
  void layOutWidgets();
  void connectWidgets();
  void browse();
  void estimate();
  void showEstimate(const engine::MemoryEstimate& estimate);

  bridge::EngineBridge& m_bridge;
  engine::EngineConfig m_initial;
  QFormLayout* m_form;
  QComboBox *m_path, *m_blockSize, *m_kvDtype, *m_isa;
  QSpinBox *m_context, *m_kvMegabytes, *m_kvBlocks, *m_threads;
  QPushButton *m_browse, *m_load, *m_cancel;
  QTableWidget* m_table;
  QLabel *m_sum, *m_error;
  QTimer m_estimateTimer;
  std::uint64_t m_lastAsked = 0;
};

}  // namespace ui::panels
