#pragma once
/// Corners of pictures and their motion, for the pyramid examples. What a tile costs depends on what is in it.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace features {

constexpr int kTile = 32;  ///< side of a tile, in pixels
constexpr int kMostInTile = 24;
constexpr int kBorder = 8;      ///< pixels that a corner's surroundings reach
constexpr int kThreshold = 16;  ///< difference of brightness that counts

struct Corner {
  int16_t x, y;
  int32_t score;
  uint64_t bits;  ///< which of 64 pairs of pixels round it rise: alike corners have alike bits
};
/// The best corners of a tile, by score, then by place.
struct Tile {
  int32_t count = 0;
  Corner corners[kMostInTile];
};
/// Corners of a tile that were found again in the picture before, and by how much they have moved together.
struct Motion {
  int32_t found = 0, dx = 0, dy = 0;
};

/// Grey pixels, row by row.
struct Picture {
  const uint8_t* pixels;
  int width, height;
  int At(int x, int y) const { return pixels[y * width + x]; }
};

constexpr int TilesAcross(int pixels) { return (pixels + kTile - 1) / kTile; }

/// Half of the width and height: each pixel is the mean of four. @param put gets each row, and its first pixel's number
template <typename Put>
void Halve(const Picture& picture, const Put& put) {
  std::vector<uint8_t> row(static_cast<size_t>(picture.width / 2));
  for (int y = 0; y < picture.height / 2; ++y) {
    for (int x = 0; x < picture.width / 2; ++x) {
      const int sum = picture.At(2 * x, 2 * y) + picture.At(2 * x + 1, 2 * y) + picture.At(2 * x, 2 * y + 1) +
                      picture.At(2 * x + 1, 2 * y + 1);
      row[static_cast<size_t>(x)] = static_cast<uint8_t>((sum + 2) / 4);
    }
    put(row, static_cast<int64_t>(y) * (picture.width / 2));
  }
}

/// FAST-9 (Rosten and Drummond 2006): nine neighbours on a circle of 16 are all brighter, or all darker. @return 0: no
/// corner
inline int Score(const Picture& picture, int x, int y) {
  static constexpr int8_t kCircle[16][2] = {{0, -3}, {1, -3}, {2, -2}, {3, -1}, {3, 0},  {3, 1},   {2, 2},   {1, 3},
                                            {0, 3},  {-1, 3}, {-2, 2}, {-3, 1}, {-3, 0}, {-3, -1}, {-2, -2}, {-1, -3}};
  const int centre = picture.At(x, y);
  uint32_t brighter = 0, darker = 0;
  int score = 0;
  for (int i = 0; i < 16; ++i) {
    const int difference = picture.At(x + kCircle[i][0], y + kCircle[i][1]) - centre;
    brighter |= (difference > kThreshold ? 0x10001U : 0U) << i;
    darker |= (difference < -kThreshold ? 0x10001U : 0U) << i;
    score += std::max(0, std::abs(difference) - kThreshold);
  }
  for (const uint32_t circle : {brighter, darker}) {
    // Bits i and i + 16 are the same pixel, so a run of nine may go round.
    uint32_t run = circle;
    for (int i = 1; i < 9; ++i) run &= circle >> i;
    if (run != 0) return score;
  }
  return 0;
}

/// Compares 64 pairs of pixels round it, always the same ones (as in BRIEF, Calonder 2010).
inline uint64_t Bits(const Picture& picture, int x, int y) {
  uint64_t bits = 0;
  uint32_t state = 12345;
  const auto next = [&state] {
    state = state * 1664525 + 1013904223;
    return static_cast<int>(state >> 24) % (2 * kBorder + 1) - kBorder;
  };
  for (int i = 0; i < 64; ++i) {
    const int ax = next(), ay = next(), bx = next(), by = next();
    bits |= static_cast<uint64_t>(picture.At(x + ax, y + ay) < picture.At(x + bx, y + by)) << i;
  }
  return bits;
}

inline Tile Detect(const Picture& picture, int64_t number) {
  Tile tile{};
  const int across = TilesAcross(picture.width);
  const int left = static_cast<int>(number) % across * kTile, top = static_cast<int>(number) / across * kTile;
  for (int y = std::max(top, kBorder); y < std::min(top + kTile, picture.height - kBorder); ++y) {
    for (int x = std::max(left, kBorder); x < std::min(left + kTile, picture.width - kBorder); ++x) {
      const int score = Score(picture, x, y);
      if (score == 0 || (tile.count == kMostInTile && score <= tile.corners[kMostInTile - 1].score)) continue;
      if (Score(picture, x - 1, y) > score || Score(picture, x + 1, y) >= score || Score(picture, x, y - 1) > score ||
          Score(picture, x, y + 1) >= score)
        continue;
      if (tile.count < kMostInTile) ++tile.count;
      int at = tile.count - 1;
      for (; at > 0 && tile.corners[at - 1].score < score; --at) tile.corners[at] = tile.corners[at - 1];
      tile.corners[at] = {static_cast<int16_t>(x), static_cast<int16_t>(y), score, Bits(picture, x, y)};
    }
  }
  return tile;
}

/// Looks for the corners of a tile in that tile and its neighbours of the picture before. @param before gets a tile by
/// its number
template <typename Before>
Motion Match(const Tile& tile, int64_t number, int across, int64_t tiles, const Before& before) {
  constexpr int kAlike = 10;            // of 64 bits
  constexpr int kFarthest = 6 * kTile;  // the nearest of those that are as alike
  Motion motion;
  const int64_t column = number % across;
  for (int i = 0; i < tile.count; ++i) {
    const Corner& corner = tile.corners[i];
    int best = kFarthest * (kAlike + 1);
    const Corner* match = nullptr;
    for (int64_t row = number / across - 1; row <= number / across + 1; ++row) {
      for (int64_t x = std::max<int64_t>(column - 1, 0); x <= std::min<int64_t>(column + 1, across - 1); ++x) {
        if (row < 0 || row * across + x >= tiles) continue;
        const Tile& other = before(row * across + x);
        for (int j = 0; j < other.count; ++j) {
          const Corner& old = other.corners[j];
          const int far = std::abs(corner.x - old.x) + std::abs(corner.y - old.y);
          const int differ = kFarthest * std::popcount(corner.bits ^ old.bits) + far;
          if (differ < best) best = differ, match = &old;
        }
      }
    }
    if (match == nullptr) continue;
    ++motion.found;
    motion.dx += corner.x - match->x;
    motion.dy += corner.y - match->y;
  }
  return motion;
}

}  // namespace features
