#include "live/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace attune::live {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 8;
constexpr int64_t kMinFollowNs = 1'000'000;
constexpr size_t kMaxKeyShown = 40;

Error Invalid(std::string message) { return {Errc::kInvalidArgument, "client message: " + std::move(message), ""}; }

/// An integer in [low, high]; numbers with a fraction are refused.
Result<int64_t> Integer(const Json& value, std::string_view key, int64_t low, int64_t high) {
  const bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                                               : value.is_number_integer();
  if (!fits) return Invalid(fmt::format("\"{}\" must be an integer", key));
  const auto number = value.get<int64_t>();
  if (number < low || number > high) return Invalid(fmt::format("\"{}\" must be {} to {}", key, low, high));
  return number;
}

Result<int64_t> RelativeNs(const Json& value, std::string_view key) {
  return Integer(value, key, -kMaxRelativeNs, kMaxRelativeNs);
}

/// Ids of series or of elements.
Status ReadIds(const Json& list, std::string_view key, size_t most, std::vector<uint32_t>& ids) {
  if (!list.is_array() || list.size() > most)
    return Invalid(fmt::format("\"{}\" must be a list of at most {} ids", key, most));
  for (const Json& item : list) {
    ATTUNE_TRY(const int64_t id, Integer(item, key, 1, UINT32_MAX));
    ids.push_back(static_cast<uint32_t>(id));
  }
  return {};
}

Status ReadSeries(const Json& list, std::string_view key, std::vector<model::SeriesId>& series) {
  return ReadIds(list, key, kMaxViewSeries, series);
}

Result<uint32_t> ReadCredits(const Json& value) {
  ATTUNE_TRY(const int64_t credits, Integer(value, "credits", 0, kMaxCredits));
  return static_cast<uint32_t>(credits);
}

Result<uint64_t> ReadRevision(const Json& value) {
  ATTUNE_TRY(const int64_t revision, Integer(value, "revision", 0, kMaxRelativeNs));
  return static_cast<uint64_t>(revision);
}

Result<uint32_t> ReadPixels(const Json& value) {
  ATTUNE_TRY(const int64_t pixels, Integer(value, "pixels", 1, kMaxPixels));
  return static_cast<uint32_t>(pixels);
}

Result<uint64_t> ReadId(const Json& value) {
  ATTUNE_TRY(const int64_t id, Integer(value, "id", 0, kMaxRelativeNs));
  return static_cast<uint64_t>(id);
}

Status ReadHave(const Json& list, ViewSpec& view) {
  if (!list.is_array()) return Invalid("\"have\" must be a list");
  for (const Json& item : list) {
    if (item.is_null()) {
      view.have.push_back(model::kAbsent);
      continue;
    }
    ATTUNE_TRY(const int64_t t_ns, RelativeNs(item, "have"));
    view.have.push_back(t_ns);
  }
  return {};
}

Status ReadViewKey(const std::string& key, const Json& value, ViewSpec& view) {
  if (key == "series") return ReadSeries(value, key, view.series);
  if (key == "have") return ReadHave(value, view);
  if (key == "id") {
    ATTUNE_TRY(view.id, ReadId(value));
  } else if (key == "t0") {
    ATTUNE_TRY(view.range.t0_ns, RelativeNs(value, key));
  } else if (key == "t1") {
    ATTUNE_TRY(view.range.t1_ns, RelativeNs(value, key));
  } else if (key == "follow") {
    ATTUNE_TRY(view.follow_ns, Integer(value, key, kMinFollowNs, kMaxRelativeNs));
  } else if (key == "pixels") {
    ATTUNE_TRY(view.pixels, ReadPixels(value));
  } else {
    return Invalid("a view has no \"" + key + "\"");
  }
  return {};
}

Result<ViewSpec> ReadView(const Json& object) {
  if (!object.is_object()) return Invalid("\"view\" must be an object");
  ViewSpec view;
  for (const auto& [key, value] : object.items()) ATTUNE_CHECK_OK(ReadViewKey(key, value, view));
  const bool has_range = object.contains("t0") && object.contains("t1");
  if (has_range == (view.follow_ns > 0)) return Invalid("a view needs either \"follow\" or \"t0\" and \"t1\"");
  if (has_range && view.range.t0_ns >= view.range.t1_ns) return Invalid("\"t0\" must be before \"t1\"");
  if (!view.have.empty() && view.have.size() != view.series.size())
    return Invalid("\"have\" must be as long as \"series\"");
  return view;
}

void ReplaceControls(std::string& text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
}

Result<LabelRequest> ReadLabel(const Json& object) {
  if (!object.is_object()) return Invalid("\"label\" must be an object");
  LabelRequest label;
  for (const auto& [key, value] : object.items()) {
    if (key == "t") {
      ATTUNE_TRY(label.t_ns, RelativeNs(value, key));
    } else if (key == "text" && value.is_string()) {
      label.text = value.get<std::string>();
    } else {
      return Invalid("a label has a \"text\" and may have a \"t\", not \"" + key + "\"");
    }
  }
  if (label.text.empty() || label.text.size() > kMaxLabelBytes)
    return Invalid(fmt::format("a label's text must have 1 to {} bytes", kMaxLabelBytes));
  ReplaceControls(label.text);
  return label;
}

Result<std::string> ReadName(const Json& value, std::string_view key) {
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kMaxNameBytes)
    return Invalid(fmt::format("\"{}\" must be a text of at most {} bytes", key, kMaxNameBytes));
  auto name = value.get<std::string>();
  ReplaceControls(name);
  return name;
}

Result<ControlRequest> ReadControl(const Json& object) {
  if (!object.is_object()) return Invalid("\"control\" must be an object");
  ControlRequest control;
  for (const auto& [key, value] : object.items()) {
    if (key == "paused" && value.is_boolean()) {
      control.paused = value.get<bool>();
    } else if (key == "interval_ns") {
      ATTUNE_TRY(control.interval_ns, Integer(value, key, -kMaxRelativeNs, kMaxRelativeNs));
    } else if (key == "sensor") {
      ATTUNE_TRY(control.sensor, ReadName(value, key));
    } else {
      return Invalid("\"control\" has \"paused\" (true or false) or \"interval_ns\" and \"sensor\", not this \"" +
                     key.substr(0, kMaxKeyShown) + "\"");
    }
  }
  if (control.paused.has_value() == control.interval_ns.has_value())
    return Invalid("\"control\" needs either \"paused\" or \"interval_ns\"");
  return control;
}

Result<LoadRequest> ReadLoad(const Json& object) {
  if (!object.is_object()) return Invalid("\"load\" must be an object");
  LoadRequest load;
  for (const auto& [key, value] : object.items()) {
    if (key == "bytes") {
      ATTUNE_TRY(const int64_t bytes, Integer(value, key, 1, kMaxRelativeNs));
      load.bytes = static_cast<uint64_t>(bytes);
    } else if (key == "name") {
      ATTUNE_TRY(load.name, ReadName(value, key));
    } else if (key == "compare" && value.is_boolean()) {
      load.compare = value.get<bool>();
    } else {
      return Invalid("\"load\" has no \"" + key.substr(0, kMaxKeyShown) + "\"");
    }
  }
  if (load.bytes == 0) return Invalid("\"load\" needs its \"bytes\"");
  return load;
}

Result<CompareRequest> ReadCompare(const Json& object) {
  if (object.is_null()) return CompareRequest{.end = true};
  if (!object.is_object()) return Invalid("\"compare\" must be an object or null");
  CompareRequest compare;
  for (const auto& [key, value] : object.items()) {
    if (key != "discrete" || !value.is_boolean())
      return Invalid("\"compare\" may have \"discrete\" (true or false), not this \"" + key.substr(0, kMaxKeyShown) +
                     "\"");
    compare.discrete = value.get<bool>();
  }
  return compare;
}

Status ReadPairKey(const std::string& key, const Json& value, PairRequest& pair) {
  if (key == "before") return ReadSeries(value, key, pair.before);
  if (key == "after") return ReadSeries(value, key, pair.after);
  if (key == "id") {
    ATTUNE_TRY(pair.id, ReadId(value));
  } else if (key == "t0") {
    ATTUNE_TRY(pair.range.t0_ns, RelativeNs(value, key));
  } else if (key == "t1") {
    ATTUNE_TRY(pair.range.t1_ns, RelativeNs(value, key));
  } else if (key == "pixels") {
    ATTUNE_TRY(pair.pixels, ReadPixels(value));
  } else {
    return Invalid("a pair has no \"" + key.substr(0, kMaxKeyShown) + "\"");
  }
  return {};
}

Result<PairRequest> ReadPair(const Json& object) {
  if (!object.is_object()) return Invalid("\"pair\" must be an object");
  PairRequest pair;
  for (const auto& [key, value] : object.items()) ATTUNE_CHECK_OK(ReadPairKey(key, value, pair));
  if (pair.range.t0_ns >= pair.range.t1_ns) return Invalid("a pair needs \"t0\" before \"t1\"");
  return pair;
}

Result<DocumentRequest> ReadDocument(const Json& object) {
  if (!object.is_object() || !object.contains("name")) return Invalid("\"document\" needs a \"name\"");
  DocumentRequest document;
  for (const auto& [key, value] : object.items()) {
    if (key == "version") {
      ATTUNE_TRY(const int64_t version, Integer(value, key, 0, kMaxRelativeNs));
      document.version = static_cast<uint64_t>(version);
    } else if (key == "t0" || key == "t1") {
      if (!document.range) document.range.emplace();
      ATTUNE_TRY((key == "t0" ? document.range->t0_ns : document.range->t1_ns), RelativeNs(value, key));
    } else if (key == "name" && value.is_string()) {
      document.name = value.get<std::string>();
    } else {
      return Invalid("a document has no such \"" + key.substr(0, kMaxKeyShown) + "\"");
    }
  }
  const bool has_both = object.contains("t0") && object.contains("t1");
  if (document.range && (!has_both || document.range->t0_ns >= document.range->t1_ns))
    return Invalid("a document of a range needs \"t0\" before \"t1\"");
  return document;
}

Status ReadTimelineKey(const std::string& key, const Json& value, TimelineRequest& timeline) {
  if (key == "threads" || key == "ranks") {
    timeline.of_ranks = key == "ranks";
    return ReadIds(value, key, kMaxTimelineThreads, timeline.threads);
  }
  if (key == "id") {
    ATTUNE_TRY(timeline.id, ReadId(value));
  } else if (key == "t0") {
    ATTUNE_TRY(timeline.range.t0_ns, RelativeNs(value, key));
  } else if (key == "t1") {
    ATTUNE_TRY(timeline.range.t1_ns, RelativeNs(value, key));
  } else if (key == "buckets") {
    ATTUNE_TRY(const int64_t buckets, Integer(value, key, 1, kMaxTimelineBuckets));
    timeline.buckets = static_cast<uint32_t>(buckets);
  } else {
    return Invalid("a timeline has no \"" + key.substr(0, kMaxKeyShown) + "\"");
  }
  return {};
}

Result<TimelineRequest> ReadTimeline(const Json& object) {
  if (!object.is_object()) return Invalid("\"timeline\" must be an object");
  TimelineRequest timeline;
  if (object.contains("threads") && object.contains("ranks"))
    return Invalid("a timeline is of \"threads\" or \"ranks\"");
  for (const auto& [key, value] : object.items()) ATTUNE_CHECK_OK(ReadTimelineKey(key, value, timeline));
  if (timeline.range.t0_ns >= timeline.range.t1_ns) return Invalid("a timeline needs \"t0\" before \"t1\"");
  return timeline;
}

Result<SourceRequest> ReadSource(const Json& object) {
  if (!object.is_object() || object.size() != 1 || !object.contains("site"))
    return Invalid("\"source\" needs a \"site\" and nothing else");
  ATTUNE_TRY(const int64_t site, Integer(object["site"], "site", 1, UINT32_MAX));
  return SourceRequest{static_cast<model::ElementId>(site)};
}

constexpr std::array kConsoleVerbs{ConsoleVerb::kUnlock, ConsoleVerb::kRuns, ConsoleVerb::kCheck,
                                   ConsoleVerb::kStart,  ConsoleVerb::kStop, ConsoleVerb::kKill,
                                   ConsoleVerb::kOutput, ConsoleVerb::kShow, ConsoleVerb::kCompare};

Result<ConsoleVerb> ReadConsoleVerb(const Json& value) {
  const std::string name = value.is_string() ? value.get<std::string>() : "";
  const auto found = std::ranges::find_if(kConsoleVerbs, [&name](ConsoleVerb verb) { return ToString(verb) == name; });
  if (found == kConsoleVerbs.end()) return Invalid("a console does not \"" + name.substr(0, kMaxKeyShown) + "\"");
  return *found;
}

Result<ConsoleRequest> ReadConsole(const Json& object) {
  if (!object.is_object() || !object.contains("do")) return Invalid("\"console\" needs a \"do\"");
  ConsoleRequest console;
  for (const auto& [key, value] : object.items()) {
    if (key == "do") {
      ATTUNE_TRY(console.verb, ReadConsoleVerb(value));
    } else if (key == "text") {
      if (!value.is_string() || value.get_ref<const std::string&>().size() > kMaxConsoleText)
        return Invalid(fmt::format("a console's \"text\" must be a text of at most {} bytes", kMaxConsoleText));
      console.text = value.get<std::string>();
    } else if (key == "run" || key == "other") {
      ATTUNE_TRY(const int64_t run, Integer(value, key, 1, UINT32_MAX));
      (key == "run" ? console.run : console.other) = static_cast<uint64_t>(run);
    } else if (key == "from") {
      ATTUNE_TRY(const int64_t from, Integer(value, key, 0, kMaxRelativeNs));
      console.from = static_cast<uint64_t>(from);
    } else {
      return Invalid("a console has no \"" + key.substr(0, kMaxKeyShown) + "\"");
    }
  }
  return console;
}

Result<TuneRequest> ReadTune(const Json& object) {
  if (!object.is_object()) return Invalid("\"tune\" must be an object");
  TuneRequest tune;
  for (const auto& [key, value] : object.items()) {
    std::string* text = key == "knob"    ? &tune.knob
                        : key == "value" ? &tune.value
                        : key == "token" ? &tune.token
                                         : nullptr;
    if (text == nullptr) return Invalid("\"tune\" has no \"" + key.substr(0, kMaxKeyShown) + "\"");
    ATTUNE_TRY(*text, ReadName(value, key));
  }
  if (tune.knob.empty() || tune.knob.find('=') != std::string::npos) return Invalid("\"tune\" needs a \"knob\"");
  return tune;
}

template <auto part, auto read>
Status ReadPart(const Json& value, ClientMessage& message) {
  ATTUNE_TRY(message.*part, read(value));
  return {};
}

/// A key of a client's message, and who reads its value.
struct Key {
  std::string_view name;
  Status (*read)(const Json& value, ClientMessage& message);
};

/// All of them; the server has a row for each, too (BeastServer::Requests).
constexpr std::array<Key, kClientKeys> kKeys{{
    {"credits", ReadPart<&ClientMessage::credits, ReadCredits>},
    {"revision", ReadPart<&ClientMessage::revision, ReadRevision>},
    {"view", ReadPart<&ClientMessage::view, ReadView>},
    {"document", ReadPart<&ClientMessage::document, ReadDocument>},
    {"source", ReadPart<&ClientMessage::source, ReadSource>},
    {"timeline", ReadPart<&ClientMessage::timeline, ReadTimeline>},
    {"load", ReadPart<&ClientMessage::load, ReadLoad>},
    {"label", ReadPart<&ClientMessage::label, ReadLabel>},
    {"control", ReadPart<&ClientMessage::control, ReadControl>},
    {"compare", ReadPart<&ClientMessage::compare, ReadCompare>},
    {"pair", ReadPart<&ClientMessage::pair, ReadPair>},
    {"console", ReadPart<&ClientMessage::console, ReadConsole>},
    {"tune", ReadPart<&ClientMessage::tune, ReadTune>},
}};

}  // namespace

std::string_view ToString(ConsoleVerb verb) {
  switch (verb) {
    case ConsoleVerb::kUnlock: return "unlock";
    case ConsoleVerb::kRuns: return "runs";
    case ConsoleVerb::kCheck: return "check";
    case ConsoleVerb::kStart: return "start";
    case ConsoleVerb::kStop: return "stop";
    case ConsoleVerb::kKill: return "kill";
    case ConsoleVerb::kOutput: return "output";
    case ConsoleVerb::kShow: return "show";
    case ConsoleVerb::kCompare: return "compare";
  }
  return "?";
}

Result<ClientMessage> ParseClientMessage(std::string_view text) {
  if (text.size() > kMaxMessageBytes) return Invalid(fmt::format("longer than {} bytes", kMaxMessageBytes));
  // The parser itself does not recurse; the depth is bounded so that what comes after it need not care.
  bool too_deep = false;
  const auto watch_depth = [&too_deep](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  const Json json = Json::parse(text.begin(), text.end(), watch_depth, /*allow_exceptions=*/false);
  if (too_deep) return Invalid("nested too deeply");
  if (json.is_discarded() || !json.is_object()) return Error{Errc::kCorrupt, "client message: not a JSON object", ""};

  ClientMessage message;
  for (const auto& [key, value] : json.items()) {
    const auto found = std::ranges::find(kKeys, key, &Key::name);
    if (found == kKeys.end()) return Invalid("unknown key \"" + key.substr(0, kMaxKeyShown) + "\"");
    ATTUNE_CHECK_OK(found->read(value, message));
  }
  return message;
}

}  // namespace attune::live
