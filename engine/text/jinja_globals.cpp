#include "engine/text/jinja_globals.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <string_view>

#include "engine/text/jinja_arguments.h"
#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_interpreter.h"
#include "engine/text/jinja_operators.h"
#include "engine/text/jinja_repr.h"
#include "engine/text/utf8.h"

namespace engine::text::jinja {

namespace {

Value makeRange(Interpreter& interpreter, const Arguments& arguments) {
  const BoundArguments bound("range", arguments, {"start", "stop", "step"});
  bound.require(0);
  const std::int64_t start = bound.has(1) ? bound.integer(0, 0) : 0;
  const std::int64_t stop = bound.has(1) ? bound.integer(1, 0) : bound.integer(0, 0);
  const std::int64_t step = bound.integer(2, 1);
  if (step == 0) fail("range() step must not be zero");
  // In double: the difference of two 64-bit numbers may not fit one. Exact where it matters.
  const double count = (static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step);
  const std::int64_t limit = interpreter.budget().limits().rangeLength;
  if (count > static_cast<double>(limit)) fail(fmt::format("range() is longer than {}", limit));
  std::vector<Value> items;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    items.push_back(Value::integer(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  interpreter.budget().step(items.size());
  return Value::sequence(
      std::make_shared<Sequence>(SequenceKind::Range, std::move(items), &interpreter.budget()));
}

// dict(mapping or pairs, **more) as entries.
std::vector<Dict::Entry> entriesOf(Interpreter& interpreter, const Arguments& arguments) {
  std::vector<Dict::Entry> entries;
  if (arguments.positional.size() > 1) fail("dict() and namespace() take at most one positional argument");
  for (const Value& source : arguments.positional) {
    if (source.is(Kind::Dict)) {
      interpreter.budget().step(source.asDict().entries().size());
      entries = source.asDict().entries();
      continue;
    }
    for (const Value& pair : iterate(requireDefined(source), interpreter.budget())) {
      const std::vector<Value> parts = iterate(pair, interpreter.budget());
      if (parts.size() != 2) fail("dict() needs pairs");
      entries.emplace_back(parts[0], parts[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) {
    entries.emplace_back(interpreter.string(name), value);
  }
  return entries;
}

Value makeDict(Interpreter& interpreter, const Arguments& arguments) {
  return Value::dict(std::make_shared<Dict>(entriesOf(interpreter, arguments), &interpreter.budget()));
}

Value makeNamespace(Interpreter& interpreter, const Arguments& arguments) {
  std::vector<std::pair<String, Value>> attributes;
  const Dict unique(entriesOf(interpreter, arguments), &interpreter.budget());
  for (const auto& [key, value] : unique.entries()) {
    if (!key.isString()) fail("namespace() needs strings as names");
    attributes.emplace_back(key.asString(), value);
  }
  return interpreter.makeNamespace(std::move(attributes));
}

Value raiseException(Interpreter& interpreter, const Arguments& arguments) {
  const BoundArguments bound("raise_exception", arguments, {"message"});
  const String message = toText(bound.require(0), interpreter.budget());
  throw Failure{Failure::Kind::Raised, ErrorCode::InvalidArgument, std::string(message.view())};
}

Value formatNow(Interpreter& interpreter, const Arguments& arguments) {
  const BoundArguments bound("strftime_now", arguments, {"format"});
  bound.require(0);
  const String format = bound.string(0, "");
  if (format.isEmpty()) return Value::literal("");
  std::array<char, 1024> buffer{};
  const std::string pattern(format.view());
  const std::size_t length = std::strftime(buffer.data(), buffer.size(), pattern.c_str(), &interpreter.now());
  if (length == 0) fail(fmt::format("strftime_now() cannot write the format in {} bytes", buffer.size()));
  const std::string_view text(buffer.data(), length);
  if (findInvalidUtf8(text)) fail("strftime_now() got a broken format");
  return interpreter.string({std::string(text), format.originOf(0, format.size())});
}

}  // namespace

bool findGlobal(const std::string& name, Budget& budget, Value& out) {
  struct Entry {
    std::string_view name;
    Value (*function)(Interpreter&, const Arguments&);
  };
  static constexpr Entry kGlobals[] = {{"range", makeRange},
                                       {"dict", makeDict},
                                       {"namespace", makeNamespace},
                                       {"raise_exception", raiseException},
                                       {"strftime_now", formatNow}};
  for (const Entry& entry : kGlobals) {
    if (entry.name != name) continue;
    out = Value::callable(std::make_shared<Callable>(name, entry.function, &budget));
    return true;
  }
  return false;
}

}  // namespace engine::text::jinja
