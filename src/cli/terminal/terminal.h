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

enum class Style { kNone, kBold, kDim, kRed, kGreen, kYellow, kCyan };
/// `text` in that style if the stream takes colours, else as it is.
std::string Styled(FILE* stream, Style style, std::string_view text);

/// Columns of text aligned for reading: numbers to the right, words to the left. Where a terminal is too narrow, words
/// give way and numbers do not: see Narrow.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  /// Treatment of a column that has no room.
  enum class Narrow {
    kShortened,  ///< words: cut, with '>' at the end; numbers stay whole
    kWhole,      ///< stays: a name that is typed again
    kWrapped,    ///< sentences: go on below; for the last column
    kSpared      ///< is left out; the rightmost one first
  };
  struct Column {
    std::string heading;
    Align align = Align::kLeft;
    Narrow narrow = Narrow::kShortened;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Column widths in characters, so that a line with its indent has at most `width`, if that is possible.
  /// @param width 0: any
  std::vector<size_t> Fit(size_t indent, size_t width) const;
  /// Columns as wide as Fit() of another table says, so that this one goes on where it ended.
  void SetWidths(std::vector<size_t> widths) { widths_ = std::move(widths); }
  /// @param indent spaces before each line  @param width of the terminal; 0: nothing gives way
  std::string ToString(size_t indent, size_t width) const;

 private:
  std::vector<size_t> NaturalWidths() const;
  void Shorten(std::vector<size_t>& widths, size_t least, size_t width) const;
  void AddLines(std::string& text, const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                size_t indent, bool is_narrow) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> widths_;
};

/// Width of the terminal behind the stream; 0 if it is none.
size_t TerminalWidth(FILE* stream);

/// `text` in lines of at most so many characters, broken at spaces; a longer word is a line of its own.
std::vector<std::string> Wrapped(std::string_view text, size_t width);

/// `text` in at most so many characters; what was cut ends with '>'.
std::string Shortened(std::string_view text, size_t width);

/// Characters that a terminal shows of it: without the escape sequences of Styled().
size_t ShownWidth(std::string_view text);

/// "attune: text" on stderr: what a user should know while a command goes on.
void Say(const std::string& text);

/// Name of a file of the current folder: without that folder.
std::string ShownPath(const std::string& path);

/// Everything that could steer a terminal (escape sequences in a program's name) replaced by '?'.
std::string Printable(std::string_view text);

}  // namespace attune::cli
