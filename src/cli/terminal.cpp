#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/command.h"

namespace attune::cli {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// Characters, not bytes, of UTF-8 text (wide and combining characters count as one).
size_t Characters(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), IsContinuation));
}

/// At most `width` characters; '>' at the end says that there was more.
void CutTo(std::string& line, size_t width) {
  if (width == 0 || Characters(line) <= width) return;
  size_t end = 0;
  for (size_t characters = 0; end < line.size(); ++end) {
    if (!IsContinuation(line[end]) && ++characters == width) break;
  }
  line.resize(end);
  line += ">";
}

}  // namespace

bool UseColour(FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(fileno(stream)) == 1 && (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

bool UseUnicode() {
  // The first that is set counts, as for setlocale().
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

std::string Styled(FILE* stream, Style style, std::string_view text) {
  if (!UseColour(stream)) return std::string(text);
  constexpr const char* kCodes[] = {"1", "2", "31", "32", "33", "36"};
  return std::string("\x1b[") + kCodes[static_cast<size_t>(style)] + "m" + std::string(text) + "\x1b[0m";
}

size_t TerminalWidth(FILE* stream) {
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::vector<std::string> Wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (lines.empty() || lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back(word);
    } else {
      lines.back().append(" ").append(word);
    }
    begin = end + 1;
  }
  return lines;
}

std::string Printable(std::string_view text) {
  std::string clean(text);
  for (size_t i = 0; i < clean.size(); ++i) {
    const auto byte = static_cast<unsigned char>(clean[i]);
    if (byte < 0x20 || byte == 0x7f) clean[i] = '?';
    // U+0080 to U+009F are control characters, too.
    const bool last = i + 1 == clean.size();
    if (byte == 0xc2 && !last && static_cast<unsigned char>(clean[i + 1]) < 0xa0) clean[i] = clean[i + 1] = '?';
  }
  return clean;
}

std::vector<size_t> TextTable::Widths() const {
  std::vector<size_t> widths = least_widths_;
  widths.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) widths[i] = std::max(widths[i], Characters(columns_[i].heading));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], Characters(row[i]));
  }
  return widths;
}

std::string TextTable::ToString(size_t indent, size_t width) const {
  const std::vector<size_t> widths = Widths();
  std::string text;
  const auto add_line = [&](const auto& cell) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string value = cell(i);
      const std::string padding(widths[i] - Characters(value), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].align == Align::kRight ? padding + value : value + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    CutTo(line, width);
    text += line + "\n";
  };
  add_line([&](size_t i) { return columns_[i].heading; });
  for (const auto& row : rows_) add_line([&](size_t i) { return i < row.size() ? row[i] : std::string(); });
  return text;
}

int ExitCode(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument: return 2;
    case Errc::kUnavailable: return 3;
    case Errc::kPermission: return 4;
    case Errc::kTargetFailed: return 5;
    default: return 1;
  }
}

void PrintError(const Error& error) {
  std::fprintf(stderr, "%s %s\n", Styled(stderr, Style::kRed, "attune:").c_str(), Printable(error.message).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  hint: %s\n", Printable(error.hint).c_str());
}

}  // namespace attune::cli
