#include "engine/text/jinja_scope.h"

namespace engine::text::jinja {

namespace {
constexpr std::size_t kIndexFrom = 24;  // names; below, a scan is as quick
}

const Value* Scope::find(const std::string& name, Budget& budget) const {
  for (const Scope* scope = this; scope; scope = scope->m_parent.get()) {
    budget.step();
    if (const Value* found = scope->findHere(name)) return found;
  }
  return nullptr;
}

void Scope::set(const std::string& name, Value value) {
  if (const Value* found = findHere(name)) {
    *const_cast<Value*>(found) = std::move(value);  // NOLINT: the vector is ours
    return;
  }
  m_values.emplace_back(name, std::move(value));
  if (m_values.size() == kIndexFrom) {
    for (std::size_t i = 0; i < m_values.size(); ++i) m_index[m_values[i].first] = i;
  } else if (m_values.size() > kIndexFrom) {
    m_index[name] = m_values.size() - 1;
  }
}

const Value* Scope::findHere(const std::string& name) const {
  if (!m_index.empty()) {
    const auto found = m_index.find(name);
    return found == m_index.end() ? nullptr : &m_values[found->second].second;
  }
  for (const auto& [key, value] : m_values) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace engine::text::jinja
