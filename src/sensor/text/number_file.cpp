#include "sensor/text/number_file.h"

#include <array>

#include "model/schema.h"
#include "sensor/text/scan.h"

namespace attune::sensor {

Result<NumberFile> NumberFile::Open(const HostRoot& host, std::string_view path) {
  ATTUNE_TRY(UniqueFd file, host.Open(path));
  return NumberFile(std::move(file));
}

int64_t NumberFile::Read() const {
  std::array<char, 32> text;  // a number has at most 20 digits
  // One call: sysfs gives the whole value at once, and what follows a number does not matter.
  const ssize_t size = file_ ? ::pread(file_.get(), text.data(), text.size(), 0) : -1;
  return size > 0 ? NumberOf({text.data(), static_cast<size_t>(size)}) : model::kAbsent;
}

int64_t ReadNumber(const HostRoot& host, std::string_view path) {
  const auto file = NumberFile::Open(host, path);
  return file.ok() ? file->Read() : model::kAbsent;
}

std::string ReadWord(const HostRoot& host, std::string_view path) {
  std::string text = host.ReadFile(path, 4096).value_or("");
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace attune::sensor
