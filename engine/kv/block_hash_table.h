// Which block holds the content of a hash: open addressing, one cache line a look in most cases.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/huge_allocator.h"

namespace engine::kv {

// Engine thread only. Hashes are well mixed and never 0. Takes its memory at once: a step must not
// pay for growing.
class BlockHashTable {
 public:
  // maxEntries: as many as there are blocks.
  explicit BlockHashTable(std::int64_t maxEntries)
      : m_places(std::bit_ceil(static_cast<std::size_t>(2 * maxEntries + 2))),
        m_mask(m_places.size() - 1),
        m_maxEntries(static_cast<std::size_t>(maxEntries)) {}

  std::size_t size() const { return m_size; }

  // Asks for the memory that a look for it will need.
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&m_places[hash & m_mask], 1); }

  // -1 when there is none.
  std::int32_t find(std::uint64_t hash) const {
    const Place& place = m_places[indexOf(hash)];
    return place.hash == hash ? place.block : -1;
  }

  // False and nothing changed when the hash is there.
  bool insert(std::uint64_t hash, std::int32_t block) {
    CHECK(hash != 0);
    Place& place = m_places[indexOf(hash)];
    if (place.hash == hash) return false;
    CHECK(m_size < m_maxEntries);
    place = {hash, block};
    ++m_size;
    return true;
  }

  // The hash is there. Those that had to go past its place move up.
  void erase(std::uint64_t hash) {
    std::size_t hole = indexOf(hash);
    CHECK(m_places[hole].hash == hash);
    --m_size;
    for (std::size_t i = next(hole); m_places[i].hash != 0; i = next(i)) {
      const std::size_t home = m_places[i].hash & m_mask;
      if (((i - home) & m_mask) < ((i - hole) & m_mask)) continue;  // it stands behind the hole
      m_places[hole] = m_places[i];
      hole = i;
    }
    m_places[hole] = {};
  }

 private:
  struct Place {
    std::uint64_t hash = 0;  // 0 = empty
    std::int32_t block = -1;
  };

  std::size_t next(std::size_t i) const { return (i + 1) & m_mask; }

  // Where the hash is, or where it would go.
  std::size_t indexOf(std::uint64_t hash) const {
    std::size_t i = hash & m_mask;
    while (m_places[i].hash != 0 && m_places[i].hash != hash) i = next(i);
    return i;
  }

  std::vector<Place, HugeAllocator<Place>> m_places;  // at most half full
  std::size_t m_mask;
  std::size_t m_maxEntries;
  std::size_t m_size = 0;
};

}  // namespace engine::kv
