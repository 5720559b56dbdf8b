// Names and their values, one level of nesting each.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

class Scope : public Object {
 public:
  Scope(std::shared_ptr<Scope> parent, Budget& budget) : Object(&budget, 160), m_parent(std::move(parent)) {}

  // Null when no level knows the name.
  const Value* find(const std::string& name, Budget& budget) const;
  void set(const std::string& name, Value value);

 private:
  const Value* findHere(const std::string& name) const;

  std::shared_ptr<Scope> m_parent;
  std::vector<std::pair<std::string, Value>> m_values;
  std::unordered_map<std::string, std::size_t> m_index;  // once there are many
};

}  // namespace engine::text::jinja
