#include "app/window/scripted_chat.h"

#include <QApplication>
#include <QDir>
#include <cstdio>
#include <vector>

#include "ui/panels/chat_list_panel.h"
#include "ui/panels/chat_panel.h"
#include "ui/panels/composer.h"
#include "ui/panels/knobs_panel.h"
#include "ui/style/format.h"

namespace app::window {

using ui::panels::Perspective;

namespace {

constexpr int kDeadlineMs = 300'000;
constexpr int kTokensBeforeKnob = 16, kTokensBeforePictures = 48;
constexpr int kKvBlocks = 192;  // a pool whose map shows single blocks
constexpr int kShownTokens = 220;  // of the answer that the terminal shows

// Chats that share the batch with the one shown: a story, a prompt of several chunks, and short ones
// that end early and leave cached blocks behind.
struct OtherChat {
  QString question;
  int maxTokens;
};

std::vector<OtherChat> otherChats() {
  QString list = ScriptedChat::tr("Which of these tiles is red?");
  for (int tile = 1; tile <= 110; ++tile) {
    list += ScriptedChat::tr(" Tile %1 is %2.").arg(tile).arg(tile == 77 ? ScriptedChat::tr("red") : ScriptedChat::tr("blue"));
  }
  return {{ScriptedChat::tr("Name three rivers."), 12},
          {ScriptedChat::tr("Write a short story about a small boat that crosses a lake."), 220},
          {ScriptedChat::tr("Give me a recipe for lentil soup."), 200},
          {list, 120},
          {ScriptedChat::tr("What is a block table?"), 160}};
}

void print(const QString& text) {
  const QByteArray bytes = text.toUtf8();
  std::fwrite(bytes.constData(), 1, std::size_t(bytes.size()), stdout);
  std::fflush(stdout);
}

}  // namespace

ScriptedChat::ScriptedChat(ui::MainWindow& window,
                           ui::style::Theme& theme,
                           const WindowOptions& options,
                           QObject* parent)
    : QObject(parent), m_window(window), m_options(options), m_tour(window, theme, options.pictureFolder) {
  m_deadline.setSingleShot(true);
  connect(&m_deadline, &QTimer::timeout, this, [this] { fail(tr("The scripted chat did not end within five minutes.")); });
}

void ScriptedChat::start() {
  if (m_options.modelPath.isEmpty()) {
    fail(tr("A scripted chat needs a model: tessera --script-chat MODEL."));
    return;
  }
  m_deadline.start(kDeadlineMs);
  m_window.resize(m_options.sizes.front());
  m_window.show();
  connect(&m_window.loader(), &ui::models::ModelLoader::loaded, this, &ScriptedChat::askAll, Qt::QueuedConnection);
  connect(&m_window.loader(), &ui::models::ModelLoader::failed, this, &ScriptedChat::fail);
  auto& conversations = m_window.conversations();
  connect(&conversations, &ui::models::Conversations::textArrived, this,
          [this](qint64 chatId, qint64, const QString& delta) { onText(chatId, delta); });
  connect(&conversations, &ui::models::Conversations::answerFinished, this, &ScriptedChat::onFinished,
          Qt::QueuedConnection);
  m_window.start({});
  engine::EngineConfig config;
  config.load.modelPath = m_options.modelPath.toStdString();
  config.load.kvBlocks = kKvBlocks;
  m_window.loader().load(config);
}

void ScriptedChat::ask(const QString& question, int maxTokens) {
  auto& panel = m_window.chatPanel();
  ui::models::ChatSettings settings = m_window.conversations().chat(panel.chatId())->settings;
  settings.sampling.seed = 42;
  settings.sampling.maxTokens = maxTokens;
  settings.isSeedFixed = true;
  m_window.conversations().setSettings(panel.chatId(), settings);
  panel.composer().setText(question);
  panel.send();
  if (!panel.composer().error().isEmpty()) fail(panel.composer().error());
}

void ScriptedChat::askAll() {
  m_window.knobs().turn(QStringLiteral("speculate"), QStringLiteral("ngram"));
  for (const OtherChat& other : otherChats()) {
    ask(other.question, other.maxTokens);
    ++m_numAsked;
    m_window.chatList().newChat();
  }
  m_shownChat = m_window.chatPanel().chatId();
  const QString question = tr("Write a short Python function that reverses a string. Then explain it in two sentences.");
  print(QStringLiteral("> %1\n\n").arg(question));
  ask(question, kShownTokens);
  ++m_numAsked;
}

void ScriptedChat::onText(qint64 chatId, const QString& delta) {
  if (chatId != m_shownChat) return;
  print(delta);
  const auto* stream = m_window.conversations().stream(chatId);
  if (stream && stream->stats.completionTokens >= kTokensBeforeKnob && !m_hasTurned) {
    m_hasTurned = true;  // the pictures show where a knob was turned
    m_window.knobs().turn(QStringLiteral("max-batched-tokens"), QStringLiteral("256"));
  }
  if (stream && stream->stats.completionTokens >= kTokensBeforePictures && !m_hasPictures) {
    m_hasPictures = true;
    QTimer::singleShot(0, this, &ScriptedChat::takePictures);
  }
}

void ScriptedChat::onFinished(qint64 chatId, qint64 messageId) {
  const auto* message = m_window.conversations().tree(chatId).find(messageId);
  if (message && message->state == ui::models::MessageState::Failed) {
    fail(message->note);
    return;
  }
  ++m_numFinished;
  if (chatId == m_shownChat && message) {
    print(QStringLiteral("\n\n[%1 tokens, %2]\n").arg(message->stats.completionTokens)
              .arg(ui::style::formatTokensPerSecond(message->stats.tokensPerSecond())));
  }
  finishIfDone();
}

void ScriptedChat::finishIfDone() {
  if (m_numFinished < m_numAsked || m_isOver) return;
  if (!m_hasPictures) {
    m_hasPictures = true;
    takePictures();
    return;
  }
  m_isOver = true;
  m_window.saveAll();
  if (m_options.isEveryView && !m_options.pictureFolder.isEmpty()) m_tour.takeRest();
  print(QLatin1Char('\n') + tr("(%n other chat(s) were answered in the same batch)", nullptr, m_numAsked - 1) + QLatin1Char('\n'));
  emit ended(0);
}

// The engine pauses, so that all pictures show the same iteration, answers half written.
void ScriptedChat::takePictures() {
  if (!m_options.pictureFolder.isEmpty()) {
    if (!QDir().mkpath(m_options.pictureFolder)) {
      fail(tr("The folder %1 cannot be written.").arg(m_options.pictureFolder));
      return;
    }
    m_window.engineBridge().send(engine::Pause{});
    for (const QSize& size : m_options.sizes) m_tour.takePerspectives(size);
    if (m_options.isEveryView) m_tour.takeViews();
    if (!m_tour.failure().isEmpty()) return fail(m_tour.failure());
    m_window.engineBridge().send(engine::Resume{});
    m_window.setPerspective(Perspective::Chat);
  }
  finishIfDone();
}

void ScriptedChat::fail(const QString& sentence) {
  if (m_isOver) return;
  m_isOver = true;
  std::fprintf(stderr, "tessera: %s\n", sentence.toUtf8().constData());
  emit ended(1);
}

}  // namespace app::window
