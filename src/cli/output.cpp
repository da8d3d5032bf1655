#include "cli/output.h"

#include "base/text.h"
#include "cli/terminal.h"

namespace attune::cli {

Status FinishStream(FILE* stream) {
  const bool flushed = std::fflush(stream) == 0;
  if (flushed && std::ferror(stream) == 0) return {};
  // The write that failed may be long ago, and its errno lost.
  return Error{Errc::kIo, "not all of the output could be written", "is there room on the disk?"};
}

Result<int> FinishOutput() {
  ATTUNE_CHECK_OK(FinishStream(stdout));
  return 0;
}

void PrintDamage(model::Source& source) {
  const auto meta = source.Meta();
  for (const std::string& damage : meta->damage)
    std::fprintf(stderr, "%s %s\n", Styled(stderr, Style::kYellow, "attune:").c_str(), Printable(damage).c_str());
}

Result<int> PrintJson(const nlohmann::ordered_json& document) {
  const std::string text = document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  return FinishOutput();
}

}  // namespace attune::cli
