#include "cli/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

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

/// As Wrapped(), but a word that is longer than a line is broken, too.
std::vector<std::string> Broken(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  for (std::string line : Wrapped(text, width)) {
    while (Characters(line) > width) {
      size_t end = width;
      while (end < line.size() && IsContinuation(line[end])) ++end;
      lines.push_back(line.substr(0, end));
      line.erase(0, end);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

constexpr size_t kLeftOut = SIZE_MAX;

/// With two spaces between its columns.
size_t LineWidth(const std::vector<size_t>& widths) {
  size_t sum = 0;
  for (const size_t width : widths) {
    if (width != kLeftOut) sum += width + 2;
  }
  return sum - std::min<size_t>(sum, 2);
}

}  // namespace

bool UseColour(FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(fileno(stream)) == 1 && (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::string Shortened(std::string_view text, size_t width) {
  std::string line(text);
  CutTo(line, width);
  return line;
}

size_t ShownWidth(std::string_view text) {
  size_t width = Characters(text);
  for (size_t begin = text.find('\x1b'); begin != std::string_view::npos; begin = text.find('\x1b', begin + 1)) {
    const size_t end = text.find('m', begin);
    width -= (end == std::string_view::npos ? text.size() : end + 1) - begin;
  }
  return width;
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
  if (style == Style::kNone || !UseColour(stream)) return std::string(text);
  constexpr const char* kCodes[] = {"0", "1", "2", "31", "32", "33", "36"};
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

void Say(const std::string& text) {
  std::fprintf(stderr, "%s %s\n", Styled(stderr, Style::kCyan, "attune:").c_str(), Printable(text).c_str());
}

std::string ShownPath(const std::string& path) {
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string() + "/";
  return !error && path.starts_with(folder) ? path.substr(folder.size()) : path;
}

std::vector<size_t> TextTable::NaturalWidths() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(Characters(column.heading));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], Characters(row[i]));
  }
  return widths;
}

/// Takes from the widest of the columns that give way, down to `least`.
void TextTable::Shorten(std::vector<size_t>& widths, size_t least, size_t width) const {
  for (size_t excess = LineWidth(widths); excess > width; --excess) {
    size_t widest = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool gives_way = columns_[i].align == Align::kLeft && columns_[i].narrow != Narrow::kWhole;
      if (!gives_way || widths[i] == kLeftOut || widths[i] <= std::max(least, Characters(columns_[i].heading)))
        continue;
      if (widest == columns_.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == columns_.size()) return;
    --widths[widest];
  }
}

std::vector<size_t> TextTable::Fit(size_t indent, size_t width) const {
  constexpr size_t kReadable = 24, kLeast = 8;
  std::vector<size_t> natural = NaturalWidths();
  if (width == 0) return natural;
  const size_t room = width - std::min(indent, width);
  std::vector<size_t> widths = natural;
  Shorten(widths, kReadable, room);
  for (size_t i = columns_.size(); i-- > 0 && LineWidth(widths) > room;) {
    if (columns_[i].narrow != Narrow::kSpared) continue;
    natural[i] = kLeftOut;
    widths = natural;
    Shorten(widths, kReadable, room);
  }
  Shorten(widths, kLeast, room);
  return widths;
}

void TextTable::AddLines(std::string& text, const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                         size_t indent, bool is_narrow) const {
  std::vector<std::string> below;  // further lines of the wrapped column
  for (bool first = true; first || !below.empty(); first = false) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == kLeftOut) continue;
      std::string value = first && i < cells.size() ? cells[i] : "";
      if (is_narrow && columns_[i].narrow == Narrow::kWrapped) {
        if (first) below = Broken(value, widths[i]);
        if (below.empty()) continue;
        value = below.front();
        below.erase(below.begin());
      } else if (is_narrow && columns_[i].align == Align::kLeft && columns_[i].narrow != Narrow::kWhole) {
        CutTo(value, widths[i]);
      }
      const std::string padding(widths[i] - std::min(widths[i], Characters(value)), ' ');
      if (line.size() > indent) line += "  ";
      line += columns_[i].align == Align::kRight ? padding + value : value + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
}

std::string TextTable::ToString(size_t indent, size_t width) const {
  const std::vector<size_t> widths = widths_.empty() ? Fit(indent, width) : widths_;
  std::string text;
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  AddLines(text, headings, widths, indent, width > 0);
  for (const auto& row : rows_) AddLines(text, row, widths, indent, width > 0);
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
