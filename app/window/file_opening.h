// The one place that decides what a file handed to the window is: a model, parts of one, or a recorded run.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>

namespace app::window {

// What to do with files that came together: from the command line, a drop or a second start.
struct FileDecision {
  enum class Kind { Nothing, Model, Trace };
  Kind kind = Kind::Nothing;
  QString path;      // absolute; of a split model its first part among them
  QString sentence;  // why nothing is opened
};

// Looks at names and first bytes only; what is wrong inside a model, the engine says.
FileDecision decideOn(const QStringList& paths);

// Ui thread only.
class FileOpening : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

 public slots:
  void open(const QStringList& paths);

 signals:
  void modelChosen(const QString& path);
  void traceChosen(const QString& path);
  void refused(const QString& sentence);
};

}  // namespace app::window
