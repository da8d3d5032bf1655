#pragma once
/// Files and compressors of the Motion JPEG programs in P2G's language, which get their names from the environment.

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "jpeg.h"
#include "video.h"

namespace mjpeg {

constexpr int kQuality = 75;

inline std::string Named(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) throw std::runtime_error(std::string(variable) + " is not set; it names a file");
  return value;
}

/// MJPEG_IN, a YUV4MPEG2 file. @throws where it cannot be read
inline video::Reader& Input() {
  static video::Reader reader(Named("MJPEG_IN"));
  return reader;
}

/// The next frame of it, valid until the next call; nullptr: there is none. @thread one
inline const std::vector<uint8_t>* NextFrame() {
  static std::vector<uint8_t> frame;
  return Input().Next(&frame) ? &frame : nullptr;
}

/// MJPEG_OUT, an AVI file; finished when the program ends.
inline video::Writer& Output() {
  static video::Writer writer(Named("MJPEG_OUT"), Input());
  return writer;
}

/// A compressor a thread, as workers come and go.
inline jpeg::Compressor& Compressor() {
  thread_local jpeg::Compressor compressor(Input(), kQuality);
  return compressor;
}

}  // namespace mjpeg
