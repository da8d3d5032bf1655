#pragma once
/// Video as the Motion JPEG examples have it: uncompressed in (YUV4MPEG2, 8 bits, 4:2:0), AVI out.

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace video {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

[[noreturn]] inline void Fail(const std::string& path, const std::string& problem) {
  throw std::runtime_error(path + ": " + problem);
}

/// Opens, or throws with the reason.
inline File Open(const std::string& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode));
  if (file == nullptr) Fail(path, std::strerror(errno));
  return file;
}

/// One of the three planes of a frame. Its sides are padded to whole blocks of 16 x 16 (luma) or 8 x 8 pixels, as JPEG
/// codes them.
struct Plane {
  int width, height;    ///< pixels that are seen
  int stride, rows;     ///< pixels that are stored
  size_t first, bytes;  ///< within the frame
};

/// Frames of a YUV4MPEG2 file, one after the other.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(Open(path, "rb")) {
    const std::string header = Line();
    if (header.compare(0, 9, "YUV4MPEG2") != 0)
      Fail(path_, "no YUV4MPEG2 file: make one with ffmpeg -i VIDEO -pix_fmt yuv420p FILE.y4m");
    for (size_t at = header.find(' '); at != std::string::npos; at = header.find(' ', at + 1))
      Parameter(header.c_str() + at + 1);
    if (width_ < 1 || height_ < 1 || width_ > 65535 || height_ > 65535)
      Fail(path_, "its header has no size from 1 to 65535");
    if (rate_ < 1 || scale_ < 1) rate_ = 25, scale_ = 1;
    Lay(0, width_, height_, 16);
    Lay(1, (width_ + 1) / 2, (height_ + 1) / 2, 8);
    Lay(2, (width_ + 1) / 2, (height_ + 1) / 2, 8);
  }

  /// The next frame into `frame`, plane by plane. @return whether there was one @throws where it is cut off
  bool Next(std::vector<uint8_t>* frame) {
    const int c = std::fgetc(file_.get());
    if (c == EOF) return false;
    std::ungetc(c, file_.get());
    if (Line().compare(0, 5, "FRAME") != 0) Fail(path_, "frame " + std::to_string(frames_) + " has no header");
    frame->resize(plane_[2].first + plane_[2].bytes);
    for (const Plane& plane : plane_) Read(plane, frame->data() + plane.first);
    ++frames_;
    return true;
  }

  int width() const { return width_; }
  int height() const { return height_; }
  int rate() const { return rate_; }
  int scale() const { return scale_; }
  const Plane& plane(int which) const { return plane_[which]; }

 private:
  std::string Line() {
    std::string line;
    for (int c = std::fgetc(file_.get()); c != '\n' && c != EOF && line.size() < 1024; c = std::fgetc(file_.get()))
      line.push_back(static_cast<char>(c));
    return line;
  }
  void Parameter(const char* text) {
    if (text[0] == 'W') width_ = std::atoi(text + 1);
    if (text[0] == 'H') height_ = std::atoi(text + 1);
    if (text[0] == 'F') std::sscanf(text + 1, "%d:%d", &rate_, &scale_);
    const std::string format(text, std::strcspn(text, " "));
    if (format[0] == 'C' && format != "C420" && format != "C420jpeg" && format != "C420mpeg2" && format != "C420paldv")
      Fail(path_, "is " + format + ", not C420: ffmpeg -pix_fmt yuv420p makes it");
  }
  void Lay(int which, int width, int height, int block) {
    Plane& plane = plane_[which];
    plane = {width, height, (width_ + 15) / 16 * block, (height_ + 15) / 16 * block, 0, 0};
    plane.first = which == 0 ? 0 : plane_[which - 1].first + plane_[which - 1].bytes;
    plane.bytes = static_cast<size_t>(plane.stride) * static_cast<size_t>(plane.rows);
  }
  void Read(const Plane& plane, uint8_t* to) {
    const auto stride = static_cast<size_t>(plane.stride);
    const auto width = static_cast<size_t>(plane.width);
    for (int row = 0; row < plane.rows; ++row, to += stride) {
      if (row >= plane.height) {
        std::memcpy(to, to - stride, stride);
        continue;
      }
      if (std::fread(to, 1, width, file_.get()) != width)
        Fail(path_, "frame " + std::to_string(frames_) + " is cut off");
      std::memset(to + width, to[width - 1], stride - width);
    }
  }

  std::string path_;
  File file_;
  int width_ = 0, height_ = 0, rate_ = 25, scale_ = 1;
  int frames_ = 0;
  Plane plane_[3] = {};
};

/// Motion JPEG in an AVI file of one stream. @pre less than 2 GiB, the most that AVI can have
class Writer {
 public:
  Writer(const std::string& path, const Reader& of) : path_(path), file_(Open(path, "wb")) {
    Text("RIFF").Number(0).Text("AVI LIST").Number(4 + 8 + 56 + 12 + 8 + 56 + 8 + 40).Text("hdrl");
    Text("avih")
        .Number(56)
        .Number(static_cast<uint32_t>(1000000LL * of.scale() / of.rate()))
        .Number(0)
        .Number(0)
        .Number(0x10);
    frames_at_.push_back(std::ftell(file_.get()));
    Number(0).Number(0).Number(1).Number(0).Size(of).Number(0).Number(0).Number(0).Number(0);
    Text("LIST").Number(4 + 8 + 56 + 8 + 40).Text("strlstrh").Number(56).Text("vidsMJPG").Number(0).Number(0).Number(0);
    Number(static_cast<uint32_t>(of.scale())).Number(static_cast<uint32_t>(of.rate())).Number(0);
    frames_at_.push_back(std::ftell(file_.get()));
    Number(0).Number(0).Number(~0U).Number(0).Number(0).Number(0);
    Text("strf").Number(40).Number(40).Size(of).Number(1 | 24 << 16).Text("MJPG");
    Number(static_cast<uint32_t>(of.width()) * static_cast<uint32_t>(of.height()) * 3)
        .Number(0)
        .Number(0)
        .Number(0)
        .Number(0);
    movi_ = std::ftell(file_.get());
    Text("LIST").Number(0).Text("movi");
    Flush();
  }

  /// Finishes; says on standard error where that fails.
  ~Writer() {
    try {
      Finish();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void Add(const uint8_t* jpeg, size_t bytes) {
    const long at = std::ftell(file_.get());
    if (at + static_cast<long>(bytes) > 0x7fff0000) Fail(path_, "is full: AVI has at most 2 GiB");
    index_.insert(index_.end(), {static_cast<uint32_t>(at - movi_ - 8), static_cast<uint32_t>(bytes)});
    Text("00dc").Number(static_cast<uint32_t>(bytes));
    if (std::fwrite(jpeg, 1, bytes, file_.get()) != bytes || (bytes % 2 != 0 && std::fputc(0, file_.get()) == EOF))
      Fail(path_, std::strerror(errno));
  }

  /// The index, and what the header says of it. Without it, players still find the frames.
  void Finish() {
    if (finished_) return;
    finished_ = true;
    const long end = std::ftell(file_.get());
    Text("idx1").Number(static_cast<uint32_t>(index_.size() * 8));
    for (size_t i = 0; i < index_.size(); i += 2) Text("00dc").Number(0x10).Number(index_[i]).Number(index_[i + 1]);
    const long all = std::ftell(file_.get());
    At(4, static_cast<uint32_t>(all - 8));
    At(movi_ + 4, static_cast<uint32_t>(end - movi_ - 8));
    for (const long at : frames_at_) At(at, static_cast<uint32_t>(index_.size() / 2));
    Flush();
  }

 private:
  Writer& Text(const char* text) {
    std::fputs(text, file_.get());
    return *this;
  }
  Writer& Number(uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) std::fputc(static_cast<int>(number >> shift & 0xff), file_.get());
    return *this;
  }
  Writer& Size(const Reader& of) {
    return Number(static_cast<uint32_t>(of.width())).Number(static_cast<uint32_t>(of.height()));
  }
  void At(long position, uint32_t number) {
    std::fseek(file_.get(), position, SEEK_SET);
    Number(number);
  }
  void Flush() {
    if (std::fflush(file_.get()) != 0 || std::ferror(file_.get()) != 0) Fail(path_, std::strerror(errno));
  }

  std::string path_;
  File file_;
  bool finished_ = false;
  long movi_ = 0;
  std::vector<long> frames_at_;  ///< where their number is written
  std::vector<uint32_t> index_;  ///< of each frame where it is, and its bytes
};

}  // namespace video
