#pragma once
/// Errors and warnings about the text of a P2G program, with their place.

#include <string>
#include <string_view>
#include <vector>

namespace attune::flow::language {

/// Line and column from 1 on; columns count bytes.
struct Position {
  int line = 1;
  int column = 1;
};

enum class Severity { kError, kWarning };

struct Diagnostic {
  Severity severity = Severity::kError;
  Position at;
  std::string message;  ///< one sentence, lower case, without a full stop
  std::string hint;     ///< what to do; may be empty
};

/// Errors and warnings of one program. After kMaxErrors, further errors are dropped.
class Diagnostics {
 public:
  static constexpr int kMaxErrors = 50;

  void Error(Position at, std::string message, std::string hint = "");
  void Warning(Position at, std::string message, std::string hint = "");
  bool has_errors() const { return errors_ > 0; }
  bool is_full() const { return errors_ >= kMaxErrors; }
  /// In the order of the text.
  std::vector<Diagnostic> Sorted() const;

 private:
  std::vector<Diagnostic> all_;
  int errors_ = 0;
};

/// "FILE:3:7: error: message", the line with a caret below the column, and the hint. Ends with a line feed.
std::string Format(const Diagnostic& diagnostic, const std::string& file, std::string_view text);

/// The word of `candidates` that the user may have meant, as "did you mean 'value'?"; empty: none is near.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace attune::flow::language
