#include "cli/counters/bad_files_teller.h"

#include "cli/terminal/terminal.h"
#include "counter/bad_files.h"

namespace attune::cli {

BadFilesTeller::~BadFilesTeller() {
  for (const Error& why : counter::TakeBadFiles()) Say("left out: " + why.message);
}

}  // namespace attune::cli
