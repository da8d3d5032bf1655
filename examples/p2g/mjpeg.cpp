// Motion JPEG as P2G has it: a kernel for each block of each plane, then the coding of a frame, then its place in the
// file.
//
//   p2g_mjpeg IN.y4m OUT.avi [naive|fast|turbo [THREADS [QUALITY]]]
//
// turbo leaves all of a frame to libjpeg-turbo, one instance a frame.

#include <attune/flow.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "jpeg.h"
#include "video.h"

namespace {

using namespace attune::flow;
using namespace attune::flow::vars;

/// A compressor a thread, as workers come and go.
jpeg::Compressor& Compressor(const video::Reader& reader, int quality) {
  thread_local jpeg::Compressor compressor(reader, quality);
  return compressor;
}

void Put(const uint8_t* bytes, size_t count, Out<uint8_t, 1>& out) {
  out.put_range(bytes, static_cast<int64_t>(count));
}

/// Blocks of the planes, transformed each by itself, and coded together.
void AddBlocks(Graph& graph, video::Reader& reader, int quality, bool naive, const Field<uint8_t, 1>& coded) {
  using jpeg::Block, jpeg::Coefficients;
  auto y_input = graph.AddField<Block>("y_input"), u_input = graph.AddField<Block>("u_input"),
       v_input = graph.AddField<Block>("v_input");
  auto y_result = graph.AddField<Coefficients>("y_result"), u_result = graph.AddField<Coefficients>("u_result");
  auto v_result = graph.AddField<Coefficients>("v_result");

  graph.AddKernel("read", Store(y_input(a), u_input(a), v_input(a)), kOrdered,
                  [&reader, frame = std::vector<uint8_t>()](auto& instance, Out<Block, 1>& ys, Out<Block, 1>& us,
                                                            Out<Block, 1>& vs) mutable {
                    if (!reader.Next(&frame)) return instance.Finish();
                    Out<Block, 1>* planes[3] = {&ys, &us, &vs};
                    for (int which = 0; which < 3; ++which) {
                      jpeg::ForEachBlock(reader.plane(which), frame.data(), [&](const Block& block, int64_t number) {
                        planes[which]->put(block, number);
                      });
                    }
                  });
  const jpeg::Quantisation luma = Compressor(reader, quality).luma(), chroma = Compressor(reader, quality).chroma();
  const auto add = [&graph, naive](const char* name, const auto& input, const auto& result,
                                   const jpeg::Quantisation& quantisation) {
    const auto slow = [quantisation](const Block& block) { return jpeg::NaiveDct(block, quantisation); };
    const auto fast = [quantisation](const Block& block) { return jpeg::FastDct(block, quantisation); };
    if (naive)
      graph.AddKernel(name, Fetch(input(a)[x]), Store(result(a)[x]), For<Capability::kAvx2>(slow), slow);
    else
      graph.AddKernel(name, Fetch(input(a)[x]), Store(result(a)[x]), For<Capability::kAvx2>(fast), fast);
  };
  add("yDCT", y_input, y_result, luma);
  add("uDCT", u_input, u_result, chroma);
  add("vDCT", v_input, v_result, chroma);
  graph.AddKernel("VLC", Fetch(y_result(a), u_result(a), v_result(a)), Store(coded(a)),
                  [&reader, quality](const View<Coefficients, 1>& ys, const View<Coefficients, 1>& us,
                                     const View<Coefficients, 1>& vs, Out<uint8_t, 1>& out) {
                    jpeg::Compressor& compressor = Compressor(reader, quality);
                    const uint8_t* bytes = compressor.Code(ys.data(), us.data(), vs.data());
                    Put(bytes, compressor.bytes(), out);
                  });
}

void AddFrames(Graph& graph, video::Reader& reader, int quality, const Field<uint8_t, 1>& coded) {
  auto frames = graph.AddField<uint8_t>("frames");
  graph.AddKernel("read", Store(frames(a)), kOrdered,
                  [&reader, frame = std::vector<uint8_t>()](auto& instance, Out<uint8_t, 1>& out) mutable {
                    if (!reader.Next(&frame)) return instance.Finish();
                    Put(frame.data(), frame.size(), out);
                  });
  graph.AddKernel("compress", Fetch(frames(a)), Store(coded(a)),
                  [&reader, quality](const View<uint8_t, 1>& frame, Out<uint8_t, 1>& out) {
                    jpeg::Compressor& compressor = Compressor(reader, quality);
                    const uint8_t* bytes = compressor.Compress(frame.data());
                    Put(bytes, compressor.bytes(), out);
                  });
}

int Encode(int argc, char** argv) {
  const std::string way = argc > 3 ? argv[3] : "fast";
  const int quality = argc > 5 ? std::atoi(argv[5]) : 75;
  if (argc < 3 || (way != "naive" && way != "fast" && way != "turbo") || quality < 1 || quality > 100)
    return std::fputs("usage: p2g_mjpeg IN.y4m OUT.avi [naive|fast|turbo [THREADS [QUALITY]]], of 1 to 100\n", stderr),
           2;
  video::Reader reader(argv[1]);
  video::Writer writer(argv[2], reader);
  Graph graph;
  auto coded = graph.AddField<uint8_t>("coded");
  if (way == "turbo")
    AddFrames(graph, reader, quality, coded);
  else
    AddBlocks(graph, reader, quality, way == "naive", coded);
  graph.AddKernel("write", Fetch(coded(a)), kOrdered, [&writer](const View<uint8_t, 1>& bytes) {
    writer.Add(bytes.data(), static_cast<size_t>(bytes.size()));
  });
  const Report report = graph.Run({.threads = argc > 4 ? std::atoi(argv[4]) : 0});
  writer.Finish();
  std::fprintf(stderr, "%s in %.3f s\n%s\n", report.Describe().c_str(), static_cast<double>(report.wall_ns) / 1e9,
               report.ThesisTable().c_str());
  return report.ExitCode();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Encode(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "p2g_mjpeg: %s\n", error.what());
    return 1;
  }
}
