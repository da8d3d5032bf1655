#pragma once
/// Says on standard error which files of events and groups were wrong, when what may have read them ends.

namespace attune::cli {

class BadFilesTeller {
 public:
  BadFilesTeller() = default;
  ~BadFilesTeller();
  BadFilesTeller(const BadFilesTeller&) = delete;
  BadFilesTeller& operator=(const BadFilesTeller&) = delete;
};

}  // namespace attune::cli
