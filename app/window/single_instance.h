// One window per user and data folder: a second start hands its files to the first and ends.
#pragma once

#include <QLockFile>
#include <QObject>
#include <QString>
#include <QStringList>
#include <memory>

class QLocalServer;
class QLocalSocket;

namespace app::window {

// Ui thread only. The lock tells who is first, also after a kill; the socket carries the files.
class SingleInstance : public QObject {
  Q_OBJECT

 public:
  enum class Role {
    First,     // go on
    HandedOn,  // the first one has the files: exit with 0
    Deaf,      // the first one does not answer: exit with 1 and sentence()
  };

  // `name` is a path without ending; its folder is made when it is missing.
  explicit SingleInstance(const QString& name, QObject* parent = nullptr);
  ~SingleInstance() override;

  // In the user's runtime folder, one for each data folder.
  static QString defaultName(const QString& dataPath);

  // `paths` may be relative to the working folder; with none the first window is only raised.
  // Waits for the first one at most `timeoutMs`; nothing is shown at that time.
  Role claim(const QStringList& paths, int timeoutMs = 5000);
  // Why it is Deaf, or First without a way to be found (said in the log); else empty.
  const QString& sentence() const { return m_sentence; }

 signals:
  // Another start handed its files on: open them, if any, and come to the front.
  void filesArrived(const QStringList& paths);

 private:
  Role beFirst();
  Role handOn(const QStringList& paths, int timeoutMs);
  void onConnection();
  void readFrom(QLocalSocket* socket);

  QString m_name, m_sentence;
  QLockFile m_lock;
  QLocalServer* m_server = nullptr;
};

}  // namespace app::window
