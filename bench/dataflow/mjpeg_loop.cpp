// Motion JPEG by libjpeg-turbo in a plain parallel loop over the frames: the peer of examples/p2g/mjpeg.cpp.
//
//   mjpeg_loop IN.y4m OUT.avi

#include <cstdio>
#include <exception>
#include <vector>

#include "examples/p2g/jpeg.h"
#include "examples/p2g/video.h"

namespace {

void Encode(const char* in, const char* out) {
  video::Reader reader(in);
  video::Writer writer(out, reader);
  std::vector<std::vector<uint8_t>> frames;
  for (std::vector<uint8_t> frame; reader.Next(&frame);) frames.push_back(frame);
  std::vector<std::vector<uint8_t>> coded(frames.size());
#pragma omp parallel
  {
    jpeg::Compressor compressor(reader, 75);
#pragma omp for schedule(dynamic, 1)
    for (size_t i = 0; i < frames.size(); ++i) {
      const uint8_t* bytes = compressor.Compress(frames[i].data());
      coded[i].assign(bytes, bytes + compressor.bytes());
    }
  }
  for (const std::vector<uint8_t>& bytes : coded) writer.Add(bytes.data(), bytes.size());
  writer.Finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: mjpeg_loop IN.y4m OUT.avi\n", stderr), 2;
  try {
    Encode(argv[1], argv[2]);
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "mjpeg_loop: %s\n", error.what()), 1;
  }
  return 0;
}
