#include "kernels/core/quant_group.h"

#include <cstring>

#include "kernels/core/float_bits.h"

namespace kernels {

namespace {

using Bytes = const std::uint8_t*;

std::uint16_t load16(Bytes p) {
  return static_cast<std::uint16_t>(p[0] | (p[1] << 8));
}

std::uint32_t load32(Bytes p) {
  return static_cast<std::uint32_t>(load16(p)) | (static_cast<std::uint32_t>(load16(p + 2)) << 16);
}

void setScale(QuantGroup& out, std::uint16_t bits) {
  out.scaleBits = bits;
  out.scale = floatOfF16(bits);
}

void setMin(QuantGroup& out, std::uint16_t bits) {
  out.hasMin = true;
  out.minBits = bits;
  out.minScale = floatOfF16(bits);
}

// Low nibbles are elements 0..15, high nibbles 16..31.
void splitNibbles(Bytes packed, std::uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = packed[i] & 15;
    codes[i + 16] = packed[i] >> 4;
  }
}

// Bit i of `bits` becomes bit 4 of byte i.
std::uint64_t spreadToFifthBits(std::uint8_t bits) {
  constexpr std::uint64_t kEach = 0x0101010101010101u, kDiagonal = 0x8040201008040201u;
  constexpr std::uint64_t kLow7 = 0x7F7F7F7F7F7F7F7Fu, kTop = 0x8080808080808080u;
  const std::uint64_t own = (bits * kEach) & kDiagonal;  // each byte keeps the bit of its number
  return ((own + kLow7) & kTop) >> 3;                    // nonzero carries into the top bit
}

void addFifthBits(std::uint32_t bits, std::uint8_t* codes) {
  for (int part = 0; part < 4; ++part, bits >>= 8, codes += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, codes, sizeof eight);
    eight |= spreadToFifthBits(static_cast<std::uint8_t>(bits));
    std::memcpy(codes, &eight, sizeof eight);
  }
}

// Q4_1 and Q5_1 add their minimum; as a group it is -(min * -1).
void setAddedMin(QuantGroup& out, std::uint16_t bits) {
  setMin(out, bits);
  out.subMin[0] = out.subMin[1] = -1;
}

void decodeQ4(Bytes block, bool hasMin, QuantGroup& out) {
  setScale(out, load16(block));
  if (hasMin) setAddedMin(out, load16(block + 2));
  out.zero = hasMin ? 0 : 8;
  splitNibbles(block + (hasMin ? 4 : 2), out.codes);
}

void decodeQ5(Bytes block, bool hasMin, QuantGroup& out) {
  setScale(out, load16(block));
  if (hasMin) setAddedMin(out, load16(block + 2));
  out.zero = hasMin ? 0 : 16;
  Bytes bits = block + (hasMin ? 4 : 2);
  splitNibbles(bits + 4, out.codes);
  addFifthBits(load32(bits), out.codes);
}

void decodeQ8(Bytes block, QuantGroup& out) {
  setScale(out, load16(block));
  out.zero = 128;
  for (int i = 0; i < 32; ++i) out.codes[i] = block[2 + i] ^ 0x80u;
}

// scales[16] qs[64] d dmin; two bits of a byte belong to one of four groups of its half block.
void decodeQ2K(Bytes block, int group, QuantGroup& out) {
  setScale(out, load16(block + 80));
  setMin(out, load16(block + 82));
  for (int h = 0; h < 2; ++h) {
    out.subScale[h] = block[2 * group + h] & 15;
    out.subMin[h] = block[2 * group + h] >> 4;
  }
  Bytes packed = block + 16 + 32 * (group / 4);
  for (int i = 0; i < 32; ++i) out.codes[i] = (packed[i] >> (2 * (group % 4))) & 3;
}

// hmask[32] qs[64] scales[12] d; the third bit is stored inverted: set means "do not subtract 4".
void decodeQ3K(Bytes block, int group, QuantGroup& out) {
  setScale(out, load16(block + 108));
  out.zero = 4;
  Bytes scales = block + 96;
  for (int h = 0; h < 2; ++h) {
    const int index =
        2 * group + h;  // 16 scales of six bits: low nibbles first, then pairs of high bits
    const int low = index < 8 ? scales[index] & 15 : scales[index - 8] >> 4;
    const int high = (scales[8 + index % 4] >> (2 * (index / 4))) & 3;
    out.subScale[h] = (low | (high << 4)) - 32;
  }
  Bytes packed = block + 32 + 32 * (group / 4);
  for (int i = 0; i < 32; ++i) {
    const int high = (block[i] >> group) & 1;
    out.codes[i] = static_cast<std::uint8_t>(((packed[i] >> (2 * (group % 4))) & 3) | (high << 2));
  }
}

// Eight six-bit scales and eight six-bit minimums in 12 bytes (Q4_K, Q5_K).
void setSixBitScales(Bytes packed, int group, QuantGroup& out) {
  int scale, min;
  if (group < 4) {
    scale = packed[group] & 63;
    min = packed[group + 4] & 63;
  } else {
    scale = (packed[group + 4] & 15) | ((packed[group - 4] >> 6) << 4);
    min = (packed[group + 4] >> 4) | ((packed[group] >> 6) << 4);
  }
  out.subScale[0] = out.subScale[1] = scale;
  out.subMin[0] = out.subMin[1] = min;
}

// d dmin scales[12] [qh[32]] qs[128]; groups 2j and 2j+1 share 32 bytes as low and high nibbles.
void decodeQ45K(Bytes block, int group, bool hasFifthBit, QuantGroup& out) {
  setScale(out, load16(block));
  setMin(out, load16(block + 2));
  setSixBitScales(block + 4, group, out);
  Bytes packed = block + (hasFifthBit ? 48 : 16) + 32 * (group / 2);
  const int shift = 4 * (group % 2);
  for (int i = 0; i < 32; ++i) {
    out.codes[i] = (packed[i] >> shift) & 15;
    if (hasFifthBit) {
      out.codes[i] |= static_cast<std::uint8_t>(((block[16 + i] >> group) & 1) << 4);
    }
  }
}

// ql[128] qh[64] scales[16] d
void decodeQ6K(Bytes block, int group, QuantGroup& out) {
  setScale(out, load16(block + 208));
  out.zero = 32;
  for (int h = 0; h < 2; ++h) {
    out.subScale[h] = static_cast<std::int8_t>(block[192 + 2 * group + h]);
  }
  const int part = group % 4;  // groups 0,1 of a half block are low nibbles, 2,3 high ones
  Bytes low = block + 64 * (group / 4) + 32 * (part % 2);
  Bytes high = block + 128 + 32 * (group / 4);
  for (int i = 0; i < 32; ++i) {
    const int nibble = (low[i] >> (part < 2 ? 0 : 4)) & 15;
    out.codes[i] = static_cast<std::uint8_t>(nibble | (((high[i] >> (2 * part)) & 3) << 4));
  }
}

void mapNonLinear(QuantGroup& out) {
  out.zero = 128;
  for (std::uint8_t& code : out.codes) code = kNonLinearCodes[code];
}

void decodeIq4Nl(Bytes block, QuantGroup& out) {
  setScale(out, load16(block));
  splitNibbles(block + 2, out.codes);
  mapNonLinear(out);
}

// d scales_h(16 bits) scales_l[4] qs[128]
void decodeIq4Xs(Bytes block, int group, QuantGroup& out) {
  setScale(out, load16(block));
  const int low = (block[4 + group / 2] >> (4 * (group % 2))) & 15;
  const int high = (load16(block + 2) >> (2 * group)) & 3;
  out.subScale[0] = out.subScale[1] = (low | (high << 4)) - 32;
  splitNibbles(block + 8 + 16 * group, out.codes);
  mapNonLinear(out);
}

}  // namespace

bool isQuantized(DType type) {
  return type != DType::F32 && type != DType::F16 && type != DType::BF16;
}

void decodeGroup(DType type, const std::byte* block, int group, QuantGroup& out) {
  Bytes bytes = reinterpret_cast<Bytes>(block);
  out = QuantGroup{};
  switch (type) {
    case DType::Q4_0:
      return decodeQ4(bytes, false, out);
    case DType::Q4_1:
      return decodeQ4(bytes, true, out);
    case DType::Q5_0:
      return decodeQ5(bytes, false, out);
    case DType::Q5_1:
      return decodeQ5(bytes, true, out);
    case DType::Q8_0:
      return decodeQ8(bytes, out);
    case DType::Q2_K:
      return decodeQ2K(bytes, group, out);
    case DType::Q3_K:
      return decodeQ3K(bytes, group, out);
    case DType::Q4_K:
      return decodeQ45K(bytes, group, false, out);
    case DType::Q5_K:
      return decodeQ45K(bytes, group, true, out);
    case DType::Q6_K:
      return decodeQ6K(bytes, group, out);
    case DType::IQ4_NL:
      return decodeIq4Nl(bytes, out);
    case DType::IQ4_XS:
      return decodeIq4Xs(bytes, group, out);
    case DType::F32:
    case DType::F16:
    case DType::BF16:
      return;
  }
}

}  // namespace kernels
