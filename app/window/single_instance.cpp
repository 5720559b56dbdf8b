#include "app/window/single_instance.h"

#include <QCryptographicHash>
#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocalServer>
#include <QLocalSocket>
#include <QStandardPaths>
#include <QThread>

namespace app::window {

namespace {

constexpr int kLongestMessage = 1 << 20;  // bytes
constexpr int kRetryMs = 50;
constexpr const char* kTaken = "taken\n";

QString socketPath(const QString& name) { return name + QStringLiteral(".socket"); }

QByteArray messageOf(const QStringList& paths) {
  QJsonArray files;
  for (const QString& path : paths) files.append(QFileInfo(path).absoluteFilePath());
  const QJsonObject message{{QStringLiteral("open"), files},
                            {QStringLiteral("activation_token"), qEnvironmentVariable("XDG_ACTIVATION_TOKEN")}};
  return QJsonDocument(message).toJson(QJsonDocument::Compact) + '\n';
}

}  // namespace

SingleInstance::SingleInstance(const QString& name, QObject* parent)
    : QObject(parent), m_name(name), m_lock(name + QStringLiteral(".lock")) {
  QDir().mkpath(QFileInfo(name).absolutePath());
  m_lock.setStaleLockTime(0);  // a lock is stale when its process is gone, never by age
}

SingleInstance::~SingleInstance() = default;

QString SingleInstance::defaultName(const QString& dataPath) {
  const QByteArray hash = QCryptographicHash::hash(dataPath.toUtf8(), QCryptographicHash::Sha1).toHex().left(12);
  return QStandardPaths::writableLocation(QStandardPaths::RuntimeLocation) + QStringLiteral("/tessera-") +
         QString::fromLatin1(hash);
}

SingleInstance::Role SingleInstance::claim(const QStringList& paths, int timeoutMs) {
  if (m_lock.tryLock(0)) return beFirst();
  if (m_lock.error() == QLockFile::LockFailedError) return handOn(paths, timeoutMs);
  m_sentence = tr("%1 cannot be written, so a second start would not find this window.").arg(m_name);
  return Role::First;
}

SingleInstance::Role SingleInstance::beFirst() {
  QLocalServer::removeServer(socketPath(m_name));  // left by one that was killed
  m_server = new QLocalServer(this);
  m_server->setSocketOptions(QLocalServer::UserAccessOption);
  connect(m_server, &QLocalServer::newConnection, this, &SingleInstance::onConnection);
  if (!m_server->listen(socketPath(m_name))) {
    m_sentence = tr("A second start would not find this window: %1.").arg(m_server->errorString());
  }
  return Role::First;
}

// The first one may still be starting: no socket yet, or nobody who reads it.
SingleInstance::Role SingleInstance::handOn(const QStringList& paths, int timeoutMs) {
  QElapsedTimer clock;
  clock.start();
  while (clock.elapsed() < timeoutMs) {
    QLocalSocket socket;
    socket.connectToServer(socketPath(m_name));
    if (socket.waitForConnected(kRetryMs)) {
      socket.write(messageOf(paths));
      socket.flush();
      while (socket.bytesAvailable() < qint64(qstrlen(kTaken)) && clock.elapsed() < timeoutMs &&
             socket.state() == QLocalSocket::ConnectedState) {
        socket.waitForReadyRead(kRetryMs);
      }
      if (socket.readAll() == kTaken) return Role::HandedOn;
    }
    if (m_lock.tryLock(0)) return beFirst();  // it ended meanwhile
    QThread::msleep(kRetryMs);
  }
  qint64 pid = 0;
  QString host, program;
  m_lock.getLockInfo(&pid, &host, &program);
  m_sentence = tr("Tessera runs already (process %1) but has not answered within %2 seconds; close it first.")
                   .arg(pid).arg(timeoutMs / 1000);
  return Role::Deaf;
}

void SingleInstance::onConnection() {
  while (QLocalSocket* socket = m_server->nextPendingConnection()) {
    connect(socket, &QLocalSocket::disconnected, socket, &QObject::deleteLater);
    connect(socket, &QLocalSocket::readyRead, this, [this, socket] { readFrom(socket); });
    readFrom(socket);
  }
}

void SingleInstance::readFrom(QLocalSocket* socket) {
  if (!socket->canReadLine()) {
    if (socket->bytesAvailable() > kLongestMessage) socket->abort();
    return;
  }
  const QJsonDocument document = QJsonDocument::fromJson(socket->readLine(kLongestMessage));
  if (!document.isObject()) {
    socket->abort();
    return;
  }
  QStringList paths;
  for (const auto& path : document.object().value(QLatin1String("open")).toArray()) paths << path.toString();
  const QString token = document.object().value(QLatin1String("activation_token")).toString();
  if (!token.isEmpty()) qputenv("XDG_ACTIVATION_TOKEN", token.toUtf8());  // Wayland raises only with it
  socket->write(kTaken);
  socket->flush();
  emit filesArrived(paths);
}

}  // namespace app::window
