#include "ui/views/code_highlighting.h"

#include <QHash>
#include <QSet>

namespace ui::views {

namespace {

using style::Role;

QSet<QString> words(const char* text) {
  const QStringList list = QString::fromLatin1(text).split(QLatin1Char(' '));
  return QSet<QString>(list.begin(), list.end());
}

struct Language {
  QSet<QString> keywords;
  bool hashComments = false, slashComments = false, dashComments = false, tripleStrings = false;
};

QHash<QString, Language> makeLanguages() {
  const Language python{words("and as assert async await break class continue def del elif else except False "
                              "finally for from global if import in is lambda None nonlocal not or pass raise "
                              "return True try while with yield match case self"), true, false, false, true};
  const Language c{words("auto bool break case catch char class const constexpr continue default delete do double "
                         "else enum explicit extern false final float for friend goto if inline int long mutable "
                         "namespace new noexcept nullptr operator override private protected public return short "
                         "signed sizeof static struct switch template this throw true try typedef typename union "
                         "unsigned using virtual void volatile while #include #define #pragma concept requires"),
                   false, true, false, false};
  const Language js{words("async await break case catch class const continue debugger default delete do else export "
                          "extends false finally for from function if import in instanceof interface let new null "
                          "of return static super switch this throw true try type typeof undefined var void while "
                          "yield"), false, true, false, false};
  const Language rust{words("as async await break const continue crate dyn else enum extern false fn for if impl in "
                            "let loop match mod move mut pub ref return self Self static struct super trait true "
                            "type unsafe use where while"), false, true, false, false};
  const Language go{words("break case chan const continue default defer else fallthrough false for func go goto if "
                          "import interface map nil package range return select struct switch true type var"),
                    false, true, false, false};
  const Language java{words("abstract boolean break byte case catch char class const continue default do double else "
                            "enum extends final finally float for if implements import instanceof int interface long "
                            "native new null package private protected public return short static super switch "
                            "synchronized this throw throws true false try void volatile while var record"),
                      false, true, false, false};
  const Language shell{words("if then else elif fi for while do done case esac in function return export local set "
                             "unset source echo cd exit sudo"), true, false, false, false};
  const Language sql{words("select from where insert into values update set delete create table index drop join left "
                           "right inner outer on group by order having limit as and or not null primary key distinct "
                           "union all SELECT FROM WHERE INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX DROP "
                           "JOIN LEFT RIGHT INNER OUTER ON GROUP BY ORDER HAVING LIMIT AS AND OR NOT NULL PRIMARY "
                           "KEY DISTINCT UNION ALL"), false, false, true, false};
  QHash<QString, Language> all;
  for (const char* name : {"python", "py", "python3"}) all.insert(QLatin1String(name), python);
  for (const char* name : {"c", "cpp", "c++", "cc", "h", "hpp", "cuda"}) all.insert(QLatin1String(name), c);
  for (const char* name : {"js", "javascript", "ts", "typescript", "jsx", "tsx"}) all.insert(QLatin1String(name), js);
  for (const char* name : {"rust", "rs"}) all.insert(QLatin1String(name), rust);
  for (const char* name : {"go", "golang"}) all.insert(QLatin1String(name), go);
  for (const char* name : {"java", "kotlin", "csharp", "cs", "c#", "swift"}) all.insert(QLatin1String(name), java);
  for (const char* name : {"sh", "bash", "shell", "zsh", "console"}) all.insert(QLatin1String(name), shell);
  all.insert(QStringLiteral("sql"), sql);
  for (const char* name : {"yaml", "yml", "toml", "ini"}) {
    all.insert(QLatin1String(name), Language{words("true false null yes no"), true, false, false, false});
  }
  all.insert(QStringLiteral("json"), Language{words("true false null"), false, false, false, false});
  return all;
}

const Language& languageOf(const QString& name) {
  static const QHash<QString, Language> kLanguages = makeLanguages();
  static const Language kUnknown{{}, true, true, false, false};
  const auto found = kLanguages.constFind(name.toLower());
  return found == kLanguages.constEnd() ? kUnknown : *found;
}

class LineScanner {
 public:
  LineScanner(const QString& line, const Language& language, const style::Palette& palette)
      : m_line(line), m_language(language), m_palette(palette) {}

  QVector<QTextLayout::FormatRange> scan(CodeState& state) {
    int at = 0;
    if (state != CodeState::Plain) at = closeOpen(state);
    while (at < m_line.size()) at = step(at, state);
    return m_ranges;
  }

 private:
  void add(int from, int to, Role role) {
    QTextLayout::FormatRange range;
    range.start = from;
    range.length = to - from;
    range.format.setForeground(m_palette.color(role));
    m_ranges.push_back(range);
  }

  bool has(int at, const char* text) const {
    return QStringView(m_line).mid(at).startsWith(QLatin1String(text));
  }

  // The end of a comment or string that began on an earlier line.
  int closeOpen(CodeState& state) {
    const bool isComment = state == CodeState::InBlockComment;
    const int length = isComment ? 2 : 3;
    const auto end = m_line.indexOf(isComment ? QLatin1String("*/") : QLatin1String("\"\"\""));
    const int to = end < 0 ? int(m_line.size()) : int(end) + length;
    add(0, to, isComment ? Role::CodeComment : Role::CodeString);
    if (end >= 0) state = CodeState::Plain;
    return to;
  }

  int open(int at, int length, CodeState openState, CodeState& state) {
    const bool isComment = openState == CodeState::InBlockComment;
    const auto end = m_line.indexOf(isComment ? QLatin1String("*/") : QLatin1String("\"\"\""), at + length);
    const int to = end < 0 ? int(m_line.size()) : int(end) + length;
    add(at, to, isComment ? Role::CodeComment : Role::CodeString);
    if (end < 0) state = openState;
    return to;
  }

  int step(int at, CodeState& state) {
    const QChar c = m_line[at];
    if (isCommentAt(at)) {
      add(at, int(m_line.size()), Role::CodeComment);
      return int(m_line.size());
    }
    if (m_language.slashComments && has(at, "/*")) return open(at, 2, CodeState::InBlockComment, state);
    if (m_language.tripleStrings && has(at, "\"\"\"")) return open(at, 3, CodeState::InTripleString, state);
    if (c == QLatin1Char('"') || c == QLatin1Char('\'') || c == QLatin1Char('`')) return string(at);
    if (c.isDigit()) return number(at);
    if (c.isLetter() || c == QLatin1Char('_') || c == QLatin1Char('#')) return word(at);
    return at + 1;
  }

  bool isCommentAt(int at) const {
    return (m_language.hashComments && m_line[at] == QLatin1Char('#')) ||
           (m_language.slashComments && has(at, "//")) || (m_language.dashComments && has(at, "--"));
  }

  int string(int at) {
    int end = at + 1;
    while (end < m_line.size() && m_line[end] != m_line[at]) end += m_line[end] == QLatin1Char('\\') ? 2 : 1;
    end = std::min<int>(end + 1, int(m_line.size()));
    add(at, end, Role::CodeString);
    return end;
  }

  int number(int at) {
    int end = at;
    while (end < m_line.size() && (m_line[end].isLetterOrNumber() || m_line[end] == QLatin1Char('.'))) ++end;
    add(at, end, Role::CodeNumber);
    return end;
  }

  int word(int at) {
    int end = at + 1;
    while (end < m_line.size() && (m_line[end].isLetterOrNumber() || m_line[end] == QLatin1Char('_'))) ++end;
    if (m_language.keywords.contains(m_line.mid(at, end - at))) add(at, end, Role::CodeKeyword);
    return end;
  }

  const QString& m_line;
  const Language& m_language;
  const style::Palette& m_palette;
  QVector<QTextLayout::FormatRange> m_ranges;
};

}  // namespace

QVector<QTextLayout::FormatRange> highlightLine(const QString& line,
                                                const QString& language,
                                                const style::Palette& palette,
                                                CodeState& state) {
  return LineScanner(line, languageOf(language), palette).scan(state);
}

}  // namespace ui::views
