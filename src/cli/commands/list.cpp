#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "base/units.h"
#include "cli/command.h"
#include "cli/counters/bad_files_teller.h"
#include "cli/counters/event_list.h"
#include "cli/counters/group_list.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "model/info_keys.h"
#include "model/knob_file.h"
#include "model/schema.h"
#include "module/module_process.h"
#include "sensor/catalog.h"
#include "sensor/registry.h"
#include "session/core/job.h"
#include "session/tuning/by_hand.h"
#include "session/tuning/journal.h"
#include "sink/found_sinks.h"
#include "store/recording.h"
#include "tunlet/tunlet.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Align = TextTable::Align;
using Narrow = TextTable::Narrow;

struct ListOptions {
  std::string what = "sensors";
  std::string where;
  std::string pid;
  std::string pmu;
  std::string check;
  bool json = false;
  bool names = false;
};

/// A list as JSON, as names, or as a table: every kind of list fills all three.
struct Listing {
  explicit Listing(std::vector<TextTable::Column> columns) : table(std::move(columns)) {}
  Json json = Json::array();
  std::vector<std::string> names;
  TextTable table;
  std::string nothing;             ///< said when there are no rows
  std::vector<std::string> notes;  ///< said behind a table
};

Result<int> Print(const Listing& listing, const ListOptions& options) {
  if (options.json) return PrintJson(listing.json);
  if (options.names) {
    for (const std::string& name : listing.names) std::printf("%s\n", Printable(name).c_str());
  } else if (listing.json.empty()) {
    std::fprintf(stderr, "%s\n", Printable(listing.nothing).c_str());
  } else {
    const std::string text = listing.table.ToString(0, TerminalWidth(stdout));
    const size_t end = text.find('\n');
    std::printf("%s%s", Styled(stdout, Style::kDim, text.substr(0, end)).c_str(), text.substr(end).c_str());
    for (const std::string& note : listing.notes) std::fprintf(stderr, "attune: %s\n", Printable(note).c_str());
  }
  return FinishOutput();
}

/// "8 cpu, 1 machine": the elements that a sensor has here.
std::string ElementsText(const std::vector<model::SignalSpec>& specs, Json& json) {
  std::map<model::ElementKind, std::set<std::pair<int64_t, std::string_view>>> elements;
  for (const model::SignalSpec& spec : specs)
    elements[spec.element.kind].emplace(spec.element.os_id, spec.element.name);
  std::string text;
  json = Json::object();
  for (const auto& [kind, members] : elements) {
    json[model::ToString(kind)] = members.size();
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", members.size(), model::ToString(kind));
  }
  return text;
}

std::string_view WhenSampled(const model::SensorInfo& info) {
  return info.by_request ? "on request" : info.needs_program ? "with a program" : "always";
}

/// Source of the values, and the file that describes it where that is not attune itself.
std::string Source(const model::SensorInfo& info) {
  const std::string source(info.source);
  return info.file.empty() || info.file == source ? source : fmt::format("{} ({})", source, info.file);
}

/// Note behind the table.
std::string UnavailableNote(const model::SensorInfo& info, const Error& why) {
  return fmt::format("{} is not available here: {}{}{}", info.name, why.message, why.hint.empty() ? "" : "; ",
                     why.hint);
}

Result<Listing> ListSensors() {
  const HostRoot host;
  Listing listing({{"sensor", Align::kLeft, Narrow::kWhole},
                   {"signals", Align::kRight},
                   {"of", Align::kLeft, Narrow::kSpared},
                   {"sampled", Align::kLeft, Narrow::kWhole},
                   {"interval", Align::kRight},
                   {"cost", Align::kLeft, Narrow::kSpared},
                   {"source", Align::kLeft, Narrow::kSpared},
                   {"what", Align::kLeft, Narrow::kWrapped}});
  for (const auto& sensor : sensor::MakeAllSensors(sensor::ShownContext())) {
    const model::SensorInfo& info = sensor->Info();
    const auto signals = sensor->Prepare(host);
    listing.names.emplace_back(info.name);
    Json row = {{"name", info.name},
                {"description", info.description},
                {"source", info.source},
                {"file", info.file.empty() ? Json(nullptr) : Json(info.file)},
                {"cost", info.cost},
                {"default_interval_ns", info.default_interval_ns},
                {"by_request", info.by_request},
                {"needs_program", info.needs_program},
                {"available", signals.ok()},
                {"signals", signals.ok() ? Json(signals->size()) : Json(nullptr)}};
    std::string of;
    if (signals.ok()) {
      of = ElementsText(*signals, row["elements"]);
    } else {
      row["why"] = signals.error().message;
      row["hint"] = signals.error().hint;
      listing.notes.push_back(UnavailableNote(info, signals.error()));
    }
    listing.json.push_back(std::move(row));
    listing.table.AddRow({std::string(info.name), signals.ok() ? std::to_string(signals->size()) : "none", of,
                          std::string(WhenSampled(info)), FormatDuration(info.default_interval_ns),
                          std::string(info.cost), Printable(Source(info)), std::string(info.description)});
  }
  return listing;
}

/// One row a signal, however many CPUs or devices have it.
struct SignalRow {
  const model::SignalSpec* spec = nullptr;
  int64_t elements = 0;
};

/// The most that a signal can have in a second, as it is shown: "1.00 s/s". Empty: there is no limit.
std::string MaximumText(const model::SignalSpec& spec) {
  if (spec.max_per_second == model::kAbsent) return "";
  const double maximum = static_cast<double>(spec.max_per_second) * std::pow(10.0, spec.scale);
  if (spec.unit == "ns") return FormatDuration(std::llround(maximum)) + "/s";
  return fmt::format("{} {}/s", FormatCount(maximum), spec.unit);
}

/// Resolution of a signal, where it is not one unit: "10 ms" for ticks. Values that are closer cannot be told apart.
std::string ResolutionText(const model::SignalSpec& spec) {
  if (spec.scale == 0) return "";
  const double step = std::pow(10.0, spec.scale);
  if (spec.unit == "ns") return FormatDuration(std::llround(step));
  return fmt::format("{:g} {}", step, spec.unit);
}

/// @param elements how many have it here; 0: the sensor is not available
void AddSignal(Listing& listing, const model::SensorInfo& info, const model::SignalSpec& spec, int64_t elements) {
  const std::string name = fmt::format("{}.{}", info.name, spec.signal);
  const std::string_view element = model::ToString(spec.element.kind);
  const std::string& heading = spec.mnemonic.empty() ? spec.signal : spec.mnemonic;
  if (elements > 0) listing.names.push_back(name);
  listing.json.push_back(
      {{"name", name},
       {"sensor", info.name},
       {"signal", spec.signal},
       {"mnemonic", heading},
       {"element", element},
       {"elements", elements},
       {"available", elements > 0},
       {"unit", spec.unit},
       {"kind", model::ToString(spec.kind)},
       {"scale", spec.scale},
       {"resolution", std::pow(10.0, spec.scale)},
       {"max_per_second", spec.max_per_second == model::kAbsent ? Json(nullptr) : Json(spec.max_per_second)},
       {"sum", ToString(spec.sum)},
       {"source", info.source},
       {"cost", info.cost},
       {"description", spec.description}});
  listing.table.AddRow({name, heading, spec.unit, std::string(model::ToString(spec.kind)),
                        elements > 1 ? fmt::format("{} x {}", elements, element) : std::string(element),
                        ResolutionText(spec), MaximumText(spec), spec.description});
}

void AddSignals(Listing& listing, const model::SensorInfo& info, const std::vector<model::SignalSpec>& specs) {
  std::map<std::string_view, size_t> place;
  std::vector<SignalRow> rows;
  for (const model::SignalSpec& spec : specs) {
    const auto [found, added] = place.try_emplace(spec.signal, rows.size());
    if (added) rows.push_back({&spec, 0});
    ++rows[found->second].elements;
  }
  for (const SignalRow& row : rows) AddSignal(listing, info, *row.spec, row.elements);
}

/// Adds the catalog's signals of a sensor that does not work here; families keep their star.
void AddUnavailable(Listing& listing, const model::SensorInfo& info, const Error& why) {
  const sensor::CatalogSensor* entry = sensor::FindSensor(info.name);
  if (entry != nullptr) {
    for (const sensor::CatalogSignal& signal : entry->signals) {
      AddSignal(listing, info, *sensor::MakeSpec(*entry, signal.pattern), 0);
      listing.json.back()["why"] = why.message;
      listing.json.back()["hint"] = why.hint;
    }
  }
  listing.notes.push_back(UnavailableNote(info, why));
}

Result<Listing> ListSignals(const std::string& only) {
  const HostRoot host;
  Listing listing({{"signal", Align::kLeft, Narrow::kWhole},
                   {"heading", Align::kLeft, Narrow::kSpared},
                   {"unit", Align::kLeft, Narrow::kWhole},
                   {"kind", Align::kLeft, Narrow::kSpared},
                   {"of", Align::kLeft, Narrow::kSpared},
                   {"in steps of", Align::kLeft, Narrow::kSpared},
                   {"at most", Align::kLeft, Narrow::kSpared},
                   {"what", Align::kLeft, Narrow::kWrapped}});
  listing.nothing = "no sensor works here: attune doctor says why";
  std::vector<std::unique_ptr<model::Sensor>> sensors;
  if (only.empty()) {
    sensors = sensor::MakeAllSensors(sensor::ShownContext());
  } else {
    ATTUNE_TRY(auto sensor, sensor::MakeSensor(only, sensor::ShownContext()));
    sensors.push_back(std::move(sensor));
  }
  for (const auto& sensor : sensors) {
    if (const auto specs = sensor->Prepare(host); specs.ok()) {
      AddSignals(listing, sensor->Info(), *specs);
    } else {
      AddUnavailable(listing, sensor->Info(), specs.error());
    }
  }
  return listing;
}

Result<Listing> ListSinks() {
  Listing listing({{"sink", Align::kLeft, Narrow::kWhole},
                   {"file", Align::kLeft, Narrow::kSpared},
                   {"what", Align::kLeft, Narrow::kSpared},
                   {"argument", Align::kLeft, Narrow::kWrapped}});
  listing.nothing = "there is no sink: attune's own is missing from " + sink::SinkFolders().back();
  for (const PluginFile& file : FindPluginFiles(sink::SinkFolders(), {".so"})) {
    const auto sink = sink::Describe(file);
    listing.names.push_back(file.name);
    Json row = {{"name", file.name}, {"file", file.file}, {"available", sink.ok()}};
    if (sink.ok()) {
      row["description"] = sink->description;
      row["argument"] = sink->argument;
    } else {
      row["why"] = sink.error().message;
      row["hint"] = sink.error().hint;
      listing.notes.push_back(fmt::format("{} cannot be used: {}", file.name, sink.error().message));
    }
    listing.json.push_back(std::move(row));
    listing.table.AddRow({Printable(file.name), Printable(file.file), sink.ok() ? Printable(sink->description) : "-",
                          sink.ok() ? Printable(sink->argument) : "-"});
  }
  return listing;
}

Result<Listing> ListModules() {
  Listing listing({{"module", Align::kLeft, Narrow::kWhole},
                   {"what", Align::kLeft, Narrow::kWrapped},
                   {"virtual counters", Align::kLeft, Narrow::kWrapped}});
  listing.nothing = "there is no module: attune's own are missing from " + modules::ModuleFolders().back();
  for (const PluginFile& file : FindPluginFiles(modules::ModuleFolders(), {".so"})) {
    const auto module = modules::Describe(file);
    listing.names.push_back(file.name);
    Json row = {{"name", file.name}, {"file", file.file}, {"available", module.ok()}};
    std::string virtuals;
    if (module.ok()) {
      row["description"] = module->description;
      row["counters"] = module->counters;
      row["virtual_counters"] = Json::array();
      for (const modules::VirtualCounter& counter : module->virtuals) {
        row["virtual_counters"].push_back({{"name", counter.name},
                                           {"unit", counter.unit},
                                           {"description", counter.description},
                                           {"of", counter.is_of_machine ? "machine" : "thread"}});
        virtuals += (virtuals.empty() ? "" : ", ") + counter.name;
      }
    } else {
      row["why"] = module.error().message;
      listing.notes.push_back(module.error().message);
    }
    listing.json.push_back(std::move(row));
    listing.table.AddRow(
        {Printable(file.name), module.ok() ? Printable(module->description) : "-", virtuals.empty() ? "-" : virtuals});
  }
  return listing;
}

Result<Listing> ListSessions() {
  ATTUNE_TRY(const auto sessions, session::LiveSessions());
  Listing listing({{"session", Align::kLeft, Narrow::kWhole},
                   {"started", Align::kLeft, Narrow::kSpared},
                   {"program"},
                   {"recording"},
                   {"page", Align::kLeft, Narrow::kWhole}});
  listing.nothing = "no session is running; start one with: attune run -- PROGRAM";
  for (const session::SessionInfo& info : sessions) {
    listing.names.push_back(info.id);
    listing.json.push_back({{"id", info.id},
                            {"pid", info.pid},
                            {"start_real_ns", info.start_real_ns},
                            {"program", info.program},
                            {"recording", info.recording},
                            {"temporary", info.temporary},
                            {"url", info.url},
                            {"folder", info.folder}});
    listing.table.AddRow({info.id, FormatRealTime(info.start_real_ns), Printable(info.program),
                          info.temporary ? "temporary" : Printable(info.recording), info.url.empty() ? "-" : info.url});
  }
  return listing;
}

/// Extent of the recorded data; without samples and events, the life of the processes.
model::TimeRange ExtentOf(model::Source& source, const model::Metadata& meta) {
  model::TimeRange extent = source.Extent();
  if (extent.t1_ns > extent.t0_ns) return extent;
  for (const model::Process& process : meta.processes) {
    if (process.start_ns == model::kAbsent) continue;
    extent.t0_ns = extent.t0_ns == 0 ? process.start_ns : std::min(extent.t0_ns, process.start_ns);
    extent.t1_ns = std::max({extent.t1_ns, process.start_ns, process.end_ns});
  }
  return extent;
}

void AddRecording(Listing& listing, const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  const std::string name = path.string();
  listing.names.push_back(name);
  Json row = {{"path", name}, {"bytes", error ? Json(nullptr) : Json(size)}};
  // The index is enough here: large files are not read through.
  auto source = store::OpenRecording(name, {.verify_bytes = 0});
  if (!source.ok()) {
    row["error"] = source.error().message;
    listing.table.AddRow({Printable(name), error ? "-" : FormatBytes(size), "-", "-",
                          "not readable: " + Printable(source.error().message)});
  } else {
    const auto meta = (*source)->Meta();
    const model::TimeRange extent = ExtentOf(**source, *meta);
    const int64_t start_real_ns = extent.t0_ns + meta->real_minus_monotonic_ns;
    const auto program = meta->info.find(std::string(model::info::kProgram));
    const std::string what = program == meta->info.end() ? "" : program->second;
    row["start_real_ns"] = start_real_ns;
    row["duration_ns"] = extent.t1_ns - extent.t0_ns;
    row["program"] = what;
    row["growing"] = (*source)->Growing();
    row["damage"] = meta->damage;
    listing.table.AddRow({Printable(name), error ? "-" : FormatBytes(size), FormatRealTime(start_real_ns),
                          FormatDuration(extent.t1_ns - extent.t0_ns) + ((*source)->Growing() ? " so far" : ""),
                          Printable(what) + (meta->damage.empty() ? "" : " (damaged)")});
  }
  listing.json.push_back(std::move(row));
}

Result<Listing> ListRecordings(const std::string& folder) {
  Listing listing({{"recording", Align::kLeft, Narrow::kWhole},
                   {"size", Align::kRight},
                   {"started", Align::kLeft, Narrow::kWhole},
                   {"lasted", Align::kRight},
                   {"program"}});
  listing.nothing = "there is no recording (*.attune) in " + folder;
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".attune") paths.push_back(entry->path().lexically_normal());
  }
  if (error) {
    return Error{ErrcFromErrno(error.value()), "listing the recordings of " + folder + ": " + error.message(),
                 "give a folder: attune list recordings DIR"};
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) AddRecording(listing, path);
  return listing;
}

std::string_view TypeOf(const model::ColumnSchema& column) {
  switch (column.role) {
    case model::Role::kText: return "text";
    case model::Role::kCode:
    case model::Role::kLateCode: return "word";
    case model::Role::kElementName: return "name of an element";
    case model::Role::kTime: return "time";
    case model::Role::kElement: return "element";
    case model::Role::kSeries: return "series";
    case model::Role::kStream: return "stream";
    default: return "integer";
  }
}

/// With the words that there are.
std::string AboutText(const model::ColumnSchema& column) {
  std::string text(column.about);
  bool is_first = true;
  for (const std::string_view word : column.words) {
    if (word == "?") continue;
    text += fmt::format("{}{}", is_first ? ": " : ", ", word);
    is_first = false;
  }
  return text;
}

void AddTable(Listing& listing, const model::TableSchema& schema) {
  Json columns = Json::array();
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const model::ColumnSchema& column = schema.columns[i];
    Json words = Json::array();
    for (const std::string_view word : column.words) words.push_back(word == "?" ? Json(nullptr) : Json(word));
    columns.push_back({{"name", column.name},
                       {"type", TypeOf(column)},
                       {"unit", column.unit},
                       {"about", column.about},
                       {"words", std::move(words)}});
    listing.table.AddRow({i == 0 ? std::string(schema.text.name) : "", std::string(column.name),
                          std::string(TypeOf(column)), std::string(column.unit), AboutText(column)});
  }
  listing.names.emplace_back(schema.text.name);
  listing.json.push_back(
      {{"name", schema.text.name},
       {"number", static_cast<int>(schema.table)},
       {"about", schema.text.about},
       {"in_queries", schema.text.storage != model::Storage::kFile && schema.text.storage != model::Storage::kPage},
       {"has_series_columns", schema.text.has_series_columns},
       {"columns", std::move(columns)}});
}

Result<Listing> ListTables(const std::string& only) {
  Listing listing({{"table", Align::kLeft, Narrow::kWhole},
                   {"column", Align::kLeft, Narrow::kWhole},
                   {"type", Align::kLeft, Narrow::kSpared},
                   {"unit", Align::kLeft, Narrow::kSpared},
                   {"what", Align::kLeft, Narrow::kWrapped}});
  std::vector<std::string> names;
  for (const model::TableSchema& schema : model::AllSchemas()) {
    names.emplace_back(schema.text.name);
    if (only.empty() || only == schema.text.name) AddTable(listing, schema);
  }
  if (!listing.names.empty()) return listing;
  const std::string nearest = DidYouMean(only, names);
  return Error{Errc::kInvalidArgument, fmt::format("there is no table '{}'", only),
               nearest.empty() ? "attune list tables --names prints those that there are" : nearest};
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Result<Listing> ListKnobs(const std::string& only) {
  Listing listing({{"knob", Align::kLeft, Narrow::kWhole},
                   {"values", Align::kLeft, Narrow::kSpared},
                   {"of", Align::kLeft, Narrow::kSpared},
                   {"undone", Align::kLeft, Narrow::kSpared},
                   {"answers", Align::kLeft, Narrow::kSpared},
                   {"what", Align::kLeft, Narrow::kWrapped}});
  ATTUNE_TRY(const std::vector<model::Knob> knobs, model::AllKnobs());
  if (!only.empty()) ATTUNE_CHECK_OK(model::FindKnob(knobs, only));
  for (const model::Knob& knob : knobs) {
    if (!only.empty() && knob.name != only) continue;
    listing.names.push_back(knob.name);
    listing.json.push_back({{"name", knob.name},
                            {"about", knob.about},
                            {"type", model::ToString(knob.type)},
                            {"values", model::RangeOf(knob)},
                            {"unit", knob.unit},
                            {"scope", model::ToString(knob.scope)},
                            {"actuator", knob.actuator},
                            {"settle_ns", knob.settle_ns},
                            {"safe_point", knob.safe_point},
                            {"trades", knob.trades},
                            {"risk", knob.risk},
                            {"undo", model::ToString(knob.undo)},
                            {"answers", knob.answers},
                            {"permanent", knob.permanent},
                            {"file", knob.file}});
    listing.table.AddRow({knob.name, model::RangeOf(knob), std::string(model::ToString(knob.scope)),
                          std::string(model::ToString(knob.undo)), Joined(knob.answers), knob.about});
  }
  return listing;
}

/// "on", "0-1 in 4 threads and sockets", "1, 2 and more": each value once.
std::string ValuesText(const std::vector<model::KnobSetting>& settings) {
  constexpr size_t kMost = 3;
  std::vector<std::string> values;
  for (const model::KnobSetting& setting : settings) {
    if (std::ranges::find(values, setting.value) == values.end()) values.push_back(setting.value);
  }
  const bool has_more = values.size() > kMost;
  if (has_more) values.resize(kMost);
  return Joined(values) + (has_more ? " and more" : "");
}

/// Those that a process has, with their values now.
Result<Listing> ListKnobsOf(const std::string& pid_text, const std::string& only) {
  Listing listing({{"knob", Align::kLeft, Narrow::kWhole},
                   {"now", Align::kLeft, Narrow::kShortened},
                   {"values", Align::kLeft, Narrow::kSpared},
                   {"what", Align::kLeft, Narrow::kWrapped}});
  ATTUNE_TRY(const pid_t pid, session::ParseProcess(pid_text));
  if (session::TargetOf(pid).start_ticks == 0)
    return Error{Errc::kNotFound, fmt::format("there is no process {}", pid), "ps -e lists them"};
  ATTUNE_TRY(const std::vector<model::Knob> knobs, session::KnobsOf(pid));
  if (!only.empty()) ATTUNE_CHECK_OK(model::FindKnob(knobs, only));
  std::vector<std::string> by_call;
  for (const model::Knob& knob : knobs) {
    if (!only.empty() && knob.name != only) continue;
    const auto settings = session::PeekByHand(knob, pid);
    if (!settings.ok()) {
      if (settings.error().code == Errc::kUnavailable) by_call.push_back(knob.name);
      continue;
    }
    Json places = Json::array();
    for (const model::KnobSetting& setting : *settings)
      places.push_back({{"place", setting.place}, {"value", setting.value}});
    listing.names.push_back(knob.name);
    listing.json.push_back({{"name", knob.name}, {"scope", model::ToString(knob.scope)}, {"settings", places}});
    listing.table.AddRow({knob.name, ValuesText(*settings), model::RangeOf(knob), knob.about});
  }
  listing.nothing = fmt::format("process {} has no knob that can be read", pid);
  if (!by_call.empty())
    listing.notes.push_back(fmt::format(
        "not asked, since a thread would have to be stopped: {} (attune get KNOB -p {})", Joined(by_call), pid));
  return listing;
}

Result<Listing> ListTunlets() {
  Listing listing({{"tunlet", Align::kLeft, Narrow::kWhole}, {"what", Align::kLeft, Narrow::kWrapped}});
  for (const auto& make : tunlet::AllTunlets()) {
    const auto tunlet = make();
    listing.names.emplace_back(tunlet->Name());
    listing.json.push_back({{"name", tunlet->Name()}, {"about", tunlet->About()}});
    listing.table.AddRow({std::string(tunlet->Name()), std::string(tunlet->About())});
  }
  return listing;
}

Result<Listing> ListChanges() {
  Listing listing({{"knob", Align::kLeft, Narrow::kWhole},
                   {"process", Align::kRight},
                   {"of", Align::kLeft, Narrow::kSpared},
                   {"before", Align::kLeft, Narrow::kWhole},
                   {"now", Align::kLeft, Narrow::kWhole},
                   {"by", Align::kLeft, Narrow::kSpared}});
  listing.nothing = "nothing is changed";
  ATTUNE_TRY(const std::vector<session::Change> changes, session::HeldChanges());
  for (const session::Change& change : changes) {
    listing.names.push_back(change.knob);
    listing.json.push_back({{"knob", change.knob},
                            {"pid", change.target.pid},
                            {"place", change.place},
                            {"before", change.before},
                            {"after", change.after},
                            {"by", change.session},
                            {"held", change.is_held}});
    listing.table.AddRow({change.knob, std::to_string(change.target.pid), change.place, Printable(change.before),
                          Printable(change.after), Printable(change.session)});
  }
  return listing;
}

Result<Listing> EventsListing(const std::vector<EventRow>& rows) {
  Listing listing({{"event", Align::kLeft, Narrow::kWhole},
                   {"of", Align::kLeft, Narrow::kSpared},
                   {"code", Align::kLeft, Narrow::kSpared},
                   {"what", Align::kLeft, Narrow::kWrapped}});
  for (const EventRow& row : rows) {
    listing.names.push_back(row.name);
    listing.json.push_back({{"name", row.name}, {"of", row.kind}, {"code", row.code}, {"about", row.about}});
    listing.table.AddRow({row.name, row.kind, row.code, row.about});
  }
  return listing;
}

/// @param where a unit, a model, a file, or a code
Result<Listing> ListEvents(const std::string& where) {
  const BadFilesTeller teller;
  // No unit or model is called like a code.
  ATTUNE_TRY(const std::vector<EventRow> rows, IsEventCode(where) ? EventsWithCode(where, "") : EventRows(where));
  return EventsListing(rows);
}

/// @param code may be empty
Result<Listing> ListEventsOf(const std::string& pmu, const std::string& code) {
  ATTUNE_TRY(const std::vector<EventRow> rows, code.empty() ? EventRows(pmu) : EventsWithCode(code, pmu));
  return EventsListing(rows);
}

Result<Listing> ListGroups(const std::string& group) {
  const BadFilesTeller teller;
  Listing listing({{"name", Align::kLeft, Narrow::kWhole},
                   {group.empty() ? "metrics" : "formula"},
                   {"here"},
                   {"meaning", Align::kLeft, Narrow::kWrapped}});
  ATTUNE_TRY(const std::vector<GroupRow> rows, GroupRows(group));
  for (const GroupRow& row : rows) {
    listing.names.push_back(row.name);
    listing.json.push_back({{"name", row.name},
                            {group.empty() ? "metrics" : "formula", row.metrics},
                            {"here", row.here},
                            {"about", row.about}});
    listing.table.AddRow({row.name, row.metrics, row.here, row.about});
  }
  return listing;
}

struct Kind {
  std::string_view name;
  std::string_view where;  ///< argument that may stand behind it; "": none
  std::string_view about;
  Result<Listing> (*make)(const std::string& where);
};
constexpr std::array kKinds{
    Kind{"sensors", "", "what can be sampled here, with its cost",
         [](const std::string&) -> Result<Listing> { return ListSensors(); }},
    Kind{"signals", "SENSOR",
         "every value that there is, with its heading, kind, element and most per second; those of sensors that do not "
         "work here are named as families",
         ListSignals},
    Kind{
        "events", "UNIT",
        "what attune counters can count here; of UNIT (cpu, software, ...), or of a processor's model that need not be "
        "this one (list events models); or those with a code (r5101c4), of this machine or of --pmu MODEL",
        ListEvents},
    Kind{"groups", "GROUP", "groups of events, and what attune counters computes of their counts", ListGroups},
    Kind{"sinks", "", "what --sink can name", [](const std::string&) -> Result<Listing> { return ListSinks(); }},
    Kind{"modules", "", "monitoring modules, and their virtual counters",
         [](const std::string&) -> Result<Listing> { return ListModules(); }},
    Kind{"knobs", "KNOB", "what attune tune and attune set can change of a program", ListKnobs},
    Kind{"tunlets", "", "who decides what attune tune tries",
         [](const std::string&) -> Result<Listing> { return ListTunlets(); }},
    Kind{"changes", "", "what is changed now by attune tune and attune set",
         [](const std::string&) -> Result<Listing> { return ListChanges(); }},
    Kind{"sessions", "", "what runs now, of this user", [](const std::string&) { return ListSessions(); }},
    Kind{"recordings", "DIR", "the recordings in a folder",
         [](const std::string& where) { return ListRecordings(where.empty() ? "." : where); }},
    Kind{"tables", "TABLE", "what attune query can ask, and what else a recording has", ListTables},
};

/// "sensors, signals and sinks"
std::string AllKinds(std::string_view last) {
  std::string text;
  for (size_t i = 0; i < kKinds.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 < kKinds.size() ? ", " : last, kKinds[i].name);
  return text;
}

std::vector<std::string> ListKinds() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

Result<Listing> MakeListing(const ListOptions& options) {
  const auto kind = std::ranges::find(kKinds, options.what, &Kind::name);
  if (kind == kKinds.end()) {
    const std::string nearest = DidYouMean(options.what, ListKinds());
    return Error{Errc::kInvalidArgument, fmt::format("there is no list of '{}'", options.what),
                 nearest.empty() ? "there are lists of " + AllKinds(" and ") : nearest};
  }
  if (!options.where.empty() && kind->where.empty()) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("the list of {} takes nothing behind it, but got '{}'", options.what, options.where), ""};
  }
  if (!options.pmu.empty()) {
    if (kind->name == "events") return ListEventsOf(options.pmu, options.where);
    return Error{Errc::kInvalidArgument, fmt::format("the list of {} is not of a unit", kind->name),
                 "attune list events --pmu skl"};
  }
  if (options.pid.empty()) return kind->make(options.where);
  if (kind->name == "knobs") return ListKnobsOf(options.pid, options.where);
  return Error{Errc::kInvalidArgument, fmt::format("the list of {} is not of a process", kind->name),
               "attune list knobs -p PID"};
}

/// Says whether a file describes a sensor, apart from whether that works here.
Result<int> CheckFile(const std::string& file) {
  ATTUNE_TRY(const auto sensor, sensor::MakeSensor(fs::absolute(file).string()));
  const auto signals = sensor->Prepare(HostRoot());
  const std::string what =
      signals.ok() ? fmt::format("{} signals here", signals->size()) : "not available here: " + signals.error().message;
  std::printf("%s is in order: sensor %s, %s\n", Printable(file).c_str(), std::string(sensor->Info().name).c_str(),
              Printable(what).c_str());
  return FinishOutput();
}

Result<int> Run(const ListOptions& options) {
  if (!options.check.empty()) return CheckFile(options.check);
  if (options.json && options.names)
    return Error{Errc::kInvalidArgument, "--json and --names exclude each other", "give one of them"};
  ATTUNE_TRY(const Listing listing, MakeListing(options));
  return Print(listing, options);
}

}  // namespace

Command MakeListCommand() {
  auto options = std::make_shared<ListOptions>();
  Command command;
  command.name = "list";
  command.rank = 130;
  command.summary = "list what there is: sensors, knobs, sessions, recordings and more";
  for (const Kind& kind : kKinds) {
    command.description +=
        fmt::format("{}{}{}{}: {}", command.description.empty() ? "" : "\n", kind.name, kind.where.empty() ? "" : " ",
                    kind.where.empty() ? "" : fmt::format("[{}]", kind.where), kind.about);
  }
  command.positionals = {
      {"WHAT", AllKinds(" or ") + ". Default: sensors", &options->what, false, Complete::kNothing, ListKinds()},
      {"WHERE",
       "A sensor or its file, for signals; a unit, a model or a code, for events; a group, for groups; a folder, for "
       "recordings; a table, for "
       "tables",
       &options->where, false, Complete::kFile}};
  command.options = {
      {"-p,--pid", "PID", "The knobs that this process has, with their values now", &options->pid},
      {"--pmu", "MODEL",
       "Events of a unit, a model or a file, as WHERE has them; with a code as WHERE those that have it",
       &options->pmu},
      {"--check", "FILE", "Only check FILE, the description of a sensor; on a mistake print its line and what is wrong",
       &options->check, Complete::kFile},
      {"--json", "", "As one JSON array", &options->json},
      {"--names", "", "The names only, one a line", &options->names}};
  command.examples = {{"attune list signals vmstat", "what one sensor delivers"},
                      {"attune list events skl", "names and numbers of a model's events, on any machine"},
                      {"attune list events r5101c4 --pmu skl", "the name of a number"},
                      {"attune list --check fabric.toml", "look for mistakes in the description of a sensor"},
                      {"attune list recordings ~/runs", "size, time and program of each recording"},
                      {"attune list knobs -p 4711", "what can be changed of a process, and what it is now"},
                      {"attune list tables messages", "the columns of a table of attune query"},
                      {"attune list sessions --json", "addresses and recordings of what runs now"}};
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
