#pragma once
/// JPEG for the Motion JPEG examples: the cosine transform in two ways, and what libjpeg-turbo does.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <jpeglib.h>

#include "video.h"

namespace jpeg {

struct Block {
  uint8_t pixels[64];
};
struct Coefficients {
  int16_t values[64];  ///< quantised, in natural order
};

/// Divisors of the coefficients, from a table of libjpeg's.
struct Quantisation {
  float divisor[64];      ///< of the coefficients
  float fast_factor[64];  ///< of what FastDct leaves, columns and rows exchanged

  explicit Quantisation(const JQUANT_TBL& table) {
    // Factors by which the transform of Arai, Agui and Nakajima leaves the coefficients too large.
    static const double kScale[8] = {1.0, 1.387039845, 1.306562965, 1.175875602,
                                     1.0, 0.785694958, 0.541196100, 0.275899379};
    for (int i = 0; i < 64; ++i) {
      divisor[i] = table.quantval[i];
      fast_factor[8 * (i % 8) + i / 8] =
          static_cast<float>(1 / (table.quantval[i] * 8 * kScale[i / 8] * kScale[i % 8]));
    }
  }
};

/// The transform by its definition: 64 products a coefficient.
inline Coefficients NaiveDct(const Block& block, const Quantisation& quantisation) {
  struct Cosines {
    float at[8][8];
    Cosines() {
      for (int u = 0; u < 8; ++u)
        for (int i = 0; i < 8; ++i)
          at[u][i] = static_cast<float>(std::cos((2 * i + 1) * u * M_PI / 16) * (u == 0 ? std::sqrt(0.125) : 0.5));
    }
  };
  static const Cosines cosines;
  Coefficients result;
  for (int v = 0; v < 8; ++v) {
    for (int u = 0; u < 8; ++u) {
      float sum = 0;
      for (int row = 0; row < 8; ++row)
        for (int column = 0; column < 8; ++column)
          sum +=
              (static_cast<float>(block.pixels[8 * row + column]) - 128) * cosines.at[v][row] * cosines.at[u][column];
      result.values[8 * v + u] = static_cast<int16_t>(std::lrintf(sum / quantisation.divisor[8 * v + u]));
    }
  }
  return result;
}

// Eight columns at a time, whatever the machine has.
using Lanes = float __attribute__((vector_size(32)));
using Integers = int32_t __attribute__((vector_size(32)));
using Bytes = uint8_t __attribute__((vector_size(8)));

/// Eight transforms of eight values at a time (Arai, Agui, Nakajima 1988, as in libjpeg): five products each.
inline void EightDcts(Lanes* d) {
  const Lanes t0 = d[0] + d[7], t7 = d[0] - d[7], t1 = d[1] + d[6], t6 = d[1] - d[6];
  const Lanes t2 = d[2] + d[5], t5 = d[2] - d[5], t3 = d[3] + d[4], t4 = d[3] - d[4];
  const Lanes even0 = t0 + t3, even3 = t0 - t3, even1 = t1 + t2, even2 = t1 - t2;
  const Lanes turned = (even2 + even3) * 0.707106781f;
  const Lanes odd0 = t4 + t5, odd1 = t5 + t6, odd2 = t6 + t7;
  const Lanes z5 = (odd0 - odd2) * 0.382683433f;
  const Lanes z2 = odd0 * 0.541196100f + z5, z4 = odd2 * 1.306562965f + z5, z3 = odd1 * 0.707106781f;
  const Lanes z11 = t7 + z3, z13 = t7 - z3;
  d[0] = even0 + even1, d[4] = even0 - even1, d[2] = even3 + turned, d[6] = even3 - turned;
  d[5] = z13 + z2, d[3] = z13 - z2, d[1] = z11 + z4, d[7] = z11 - z4;
}

/// The transform in two passes, columns and rows.
inline Coefficients FastDct(const Block& block, const Quantisation& quantisation) {
  Lanes lines[8];
  for (int row = 0; row < 8; ++row) {
    Bytes bytes;
    std::memcpy(&bytes, block.pixels + 8 * row, sizeof bytes);
    lines[row] = __builtin_convertvector(bytes, Lanes) - 128;
  }
  EightDcts(lines);
  float values[8][8], turned[8][8];
  std::memcpy(values, lines, sizeof values);
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column) turned[column][row] = values[row][column];
  std::memcpy(lines, turned, sizeof lines);
  EightDcts(lines);
  Coefficients result;
  for (int u = 0; u < 8; ++u) {
    Lanes factor;
    std::memcpy(&factor, quantisation.fast_factor + 8 * u, sizeof factor);
    // Added and taken away again, this rounds to the nearest integer.
    constexpr float kRound = 3 << 22;
    const Integers rounded = __builtin_convertvector(lines[u] * factor + kRound - kRound, Integers);
    for (int v = 0; v < 8; ++v) result.values[8 * v + u] = static_cast<int16_t>(rounded[v]);
  }
  return result;
}

/// Calls take(block, number) for the blocks of 8 x 8 pixels of a plane, row by row.
template <typename Take>
void ForEachBlock(const video::Plane& plane, const uint8_t* frame, const Take& take) {
  const auto stride = static_cast<size_t>(plane.stride);
  int64_t number = 0;
  for (int top = 0; top < plane.rows; top += 8) {
    for (int left = 0; left < plane.stride; left += 8) {
      const uint8_t* from = frame + plane.first + static_cast<size_t>(top) * stride + static_cast<size_t>(left);
      Block block;
      for (size_t row = 0; row < 8; ++row) std::memcpy(block.pixels + 8 * row, from + row * stride, 8);
      take(block, number++);
    }
  }
}

/// libjpeg-turbo's compressor of frames as `of` reads them; one a thread.
class Compressor {
 public:
  Compressor(const video::Reader& of, int quality) : of_(of) {
    compress_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr compress) {
      char text[JMSG_LENGTH_MAX];
      compress->err->format_message(compress, text);
      throw std::runtime_error(text);
    };
    jpeg_create_compress(&compress_);
    compress_.image_width = static_cast<JDIMENSION>(of.width());
    compress_.image_height = static_cast<JDIMENSION>(of.height());
    compress_.input_components = 3;
    compress_.in_color_space = JCS_YCbCr;
    jpeg_set_defaults(&compress_);
    jpeg_set_quality(&compress_, quality, TRUE);
  }
  ~Compressor() {
    jpeg_destroy_compress(&compress_);
    std::free(memory_);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  /// All of JPEG, from the pixels on. @return valid until the next call
  const uint8_t* Compress(const uint8_t* frame) {
    Begin();
    compress_.raw_data_in = TRUE;
    jpeg_start_compress(&compress_, TRUE);
    while (compress_.next_scanline < compress_.image_height) {
      JSAMPROW rows[3][16];
      JSAMPARRAY planes[3] = {rows[0], rows[1], rows[2]};
      for (int which = 0; which < 3; ++which) {
        const video::Plane& plane = of_.plane(which);
        const int height = which == 0 ? 16 : 8;
        const int first = static_cast<int>(compress_.next_scanline) / 16 * height;
        for (int row = 0; row < height; ++row)
          rows[which][row] = const_cast<JSAMPROW>(frame + plane.first +
                                                  static_cast<size_t>(first + row) * static_cast<size_t>(plane.stride));
      }
      jpeg_write_raw_data(&compress_, planes, 16);
    }
    return Finish();
  }

  /// The coding alone, of coefficients in the order of ForEachBlock(). @return valid until the next call
  const uint8_t* Code(const Coefficients* luma, const Coefficients* blue, const Coefficients* red) {
    Begin();
    const Coefficients* from[3] = {luma, blue, red};
    jvirt_barray_ptr arrays[3];
    for (int which = 0; which < 3; ++which) {
      const video::Plane& plane = of_.plane(which);
      arrays[which] = compress_.mem->request_virt_barray(reinterpret_cast<j_common_ptr>(&compress_), JPOOL_IMAGE, TRUE,
                                                         static_cast<JDIMENSION>(plane.stride / 8),
                                                         static_cast<JDIMENSION>(plane.rows / 8), which == 0 ? 2 : 1);
    }
    jpeg_write_coefficients(&compress_, arrays);
    for (int which = 0; which < 3; ++which) {
      const video::Plane& plane = of_.plane(which);
      const auto across = static_cast<size_t>(plane.stride / 8);
      for (int row = 0; row < plane.rows / 8; ++row) {
        JBLOCKARRAY blocks = compress_.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&compress_),
                                                               arrays[which], static_cast<JDIMENSION>(row), 1, TRUE);
        std::memcpy(blocks[0], from[which] + static_cast<size_t>(row) * across, across * sizeof(Coefficients));
      }
    }
    return Finish();
  }

  Quantisation luma() const { return Quantisation(*compress_.quant_tbl_ptrs[0]); }
  Quantisation chroma() const { return Quantisation(*compress_.quant_tbl_ptrs[1]); }
  /// Length of the last frame's JPEG.
  size_t bytes() const { return bytes_; }

 private:
  void Begin() {
    bytes_ = room_;
    given_ = memory_;
    jpeg_mem_dest(&compress_, &memory_, &bytes_);
  }
  const uint8_t* Finish() {
    jpeg_finish_compress(&compress_);
    if (memory_ == given_) return memory_;
    // The buffer was too small; libjpeg has taken a larger one and leaves both to us.
    std::free(given_);
    room_ = bytes_;
    return memory_;
  }

  const video::Reader& of_;
  jpeg_compress_struct compress_ = {};
  jpeg_error_mgr errors_ = {};
  unsigned char* memory_ = nullptr;
  unsigned char* given_ = nullptr;
  unsigned long bytes_ = 0;  ///< of the last frame
  unsigned long room_ = 0;   ///< at least so many bytes are at memory_
};

}  // namespace jpeg
