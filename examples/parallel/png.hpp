// A picture as a PNG file. Nothing is compressed: the format allows blocks that are stored as they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Colour {
  std::uint8_t red, green, blue;
};

namespace png {

using Bytes = std::vector<std::uint8_t>;

inline void put_u32(Bytes &out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<std::uint8_t>(number >> shift));
}

inline std::uint32_t crc(const Bytes &bytes) {
  std::uint32_t rest = ~0u;
  for (std::uint8_t byte : bytes) {
    rest ^= byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = rest >> 1 ^ (rest & 1 ? 0xedb88320u : 0);
  }
  return ~rest;
}

inline void put_chunk(Bytes &out, const char (&kind)[5], const Bytes &content) {
  put_u32(out, static_cast<std::uint32_t>(content.size()));
  Bytes checked(kind, kind + 4);
  checked.insert(checked.end(), content.begin(), content.end());
  out.insert(out.end(), checked.begin(), checked.end());
  put_u32(out, crc(checked));
}

// zlib's format, of stored blocks.
inline Bytes stored(const Bytes &bytes) {
  constexpr std::size_t largest = 0xffff;
  Bytes out{0x78, 0x01};
  std::uint32_t low = 1, high = 0;
  for (std::size_t start = 0; start < bytes.size(); start += largest) {
    const std::size_t size = std::min(largest, bytes.size() - start);
    const bool is_last = start + size == bytes.size();
    const auto length = static_cast<std::uint16_t>(size), inverse = static_cast<std::uint16_t>(~length);
    for (int part : {int{is_last}, length & 0xff, length >> 8, inverse & 0xff, inverse >> 8})
      out.push_back(static_cast<std::uint8_t>(part));
    for (std::size_t at = start; at < start + size; ++at) {
      out.push_back(bytes[at]);
      low = (low + bytes[at]) % 65521;
      high = (high + low) % 65521;
    }
  }
  put_u32(out, high << 16 | low);
  return out;
}

// Writes a picture, row by row.
inline void write(const std::string &path, std::size_t width, std::size_t height, const Colour *pixels) {
  Bytes header;
  put_u32(header, static_cast<std::uint32_t>(width));
  put_u32(header, static_cast<std::uint32_t>(height));
  for (std::uint8_t each : {8, 2, 0, 0, 0}) // 8 bits, colours, not interlaced
    header.push_back(each);
  Bytes rows;
  for (std::size_t row = 0; row < height; ++row) {
    rows.push_back(0); // no filter
    for (std::size_t column = 0; column < width; ++column) {
      const Colour &pixel = pixels[row * width + column];
      rows.insert(rows.end(), {pixel.red, pixel.green, pixel.blue});
    }
  }
  Bytes file{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  put_chunk(file, "IHDR", header);
  put_chunk(file, "IDAT", stored(rows));
  put_chunk(file, "IEND", {});
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char *>(file.data()), static_cast<std::streamsize>(file.size()));
  if (!out.flush())
    throw std::runtime_error("cannot write " + path);
}

} // namespace png
