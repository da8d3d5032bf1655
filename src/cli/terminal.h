#pragma once
/// How the command line speaks: colours only on a terminal, progress only on a terminal and on stderr.

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace attune::cli {

/// Whether to colour what goes to this stream: a terminal, TERM is not "dumb", NO_COLOR is not set.
bool UseColour(FILE* stream);

/// Whether characters beyond ASCII can be shown: the locale is a UTF-8 one.
bool UseUnicode();

enum class Style { kBold, kDim, kRed, kGreen, kYellow, kCyan };
/// `text` in that style if the stream takes colours, else as it is.
std::string Styled(FILE* stream, Style style, std::string_view text);

/// Columns of text aligned for reading: numbers to the right, words to the left. The last column may be cut to `width`.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string heading;
    Align align = Align::kLeft;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// How wide each column is, in characters.
  std::vector<size_t> Widths() const;
  /// Columns are at least this wide: a table can go on where another one ended.
  void SetLeastWidths(std::vector<size_t> widths) { least_widths_ = std::move(widths); }
  /// @param indent spaces before each line  @param width 0: never cut
  std::string ToString(size_t indent, size_t width) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> least_widths_;
};

/// Width of the terminal behind the stream; 0 if it is none.
size_t TerminalWidth(FILE* stream);

/// `text` in lines of at most so many characters, broken at spaces; a longer word is a line of its own.
std::vector<std::string> Wrapped(std::string_view text, size_t width);

/// Everything that could steer a terminal (escape sequences in a program's name) replaced by '?'.
std::string Printable(std::string_view text);

}  // namespace attune::cli
