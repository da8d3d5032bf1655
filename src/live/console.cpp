#include "live/console.h"

#include "live/meta_log.h"

namespace attune::live {

std::string ConsoleMessage(ConsoleVerb verb, const Result<std::string>& answer) {
  InfoRows rows{{"message", "console"}, {"done", std::string(ToString(verb))}};
  if (answer.ok()) {
    rows.emplace_back("text", *answer);
  } else {
    rows.emplace_back("error", answer.error().message);
    rows.emplace_back("hint", answer.error().hint);
  }
  return InfoFrame(rows);
}

}  // namespace attune::live
