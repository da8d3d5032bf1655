/// Places in the code that used CPU time, and what the program marked itself.

#include <algorithm>

#include "base/units.h"
#include "cli/report/report_page.h"

namespace attune::cli {

using Align = TextTable::Align;

void PrintCpuProfile(const ReportPage& page) {
  constexpr double kLeastShare = 0.01;
  const analysis::CpuProfile& profile = page.summary.cpu_profile;
  if (profile.functions.empty()) return;
  page.Heading("Where it used CPU time",
               "from " + Plural(profile.samples, "sample") + "; total: with what it called, where that is known");
  TextTable table = NumbersBeforeName({{"self"}, {"share"}, {"total", true}, {"function"}});
  size_t shown = 0;
  for (const analysis::HotFunction& row : profile.functions) {
    if (shown == page.options.top || row.share < kLeastShare) break;
    ++shown;
    table.AddRow(
        {Duration(row.self_ns), Percent(row.share), Duration(row.total_ns), Printable(analysis::PlaceText(row.place))});
  }
  page.Table(table);
  if (shown < profile.functions.size())
    page.More(Plural(static_cast<int64_t>(profile.functions.size() - shown), "function") + " more");
}

void PrintRegions(const ReportPage& page) {
  const auto& regions = page.summary.program.regions;
  if (regions.empty()) return;
  page.Heading("Regions", "by time in the region itself; p50 and p99 within 1.6 %");
  TextTable table = NumbersBeforeName({{"count"},
                                       {"total"},
                                       {"self"},
                                       {"mean", true},
                                       {"p50"},
                                       {"p99"},
                                       {"max"},
                                       {"threads", true},
                                       {"unmatched", true},
                                       {"region"}});
  for (size_t i = 0; i < std::min(regions.size(), page.options.top); ++i) {
    const analysis::RegionSummary& row = regions[i];
    const bool any = row.count > 0;
    const auto time = [&](int64_t ns) { return any ? Duration(ns) : "-"; };
    const int64_t unmatched = row.begins_without_end + row.ends_without_begin;
    table.AddRow({Count(row.count), time(row.total_ns), time(row.self_ns), time(row.mean_ns), time(row.p50_ns),
                  time(row.p99_ns), time(row.max_ns), Count(row.threads), unmatched == 0 ? "" : Count(unmatched),
                  Printable(row.name)});
  }
  page.Table(table);
  if (regions.size() > page.options.top)
    page.More(Plural(static_cast<int64_t>(regions.size() - page.options.top), "region") + " more");
  PrintRegionCounts(page);
}

void PrintMessages(const ReportPage& page) {
  const auto& channels = page.summary.program.channels;
  if (!channels.empty()) {
    page.Heading("Channels");
    TextTable table({{"sent", Align::kRight},
                     {"bytes", Align::kRight},
                     {"received", Align::kRight},
                     {"bytes", Align::kRight},
                     {"channel", Align::kLeft}});
    for (size_t i = 0; i < std::min(channels.size(), page.options.top); ++i)
      table.AddRow({Count(channels[i].sent), Bytes(channels[i].sent_bytes), Count(channels[i].received),
                    Bytes(channels[i].received_bytes), Printable(channels[i].name)});
    page.Table(table);
    if (channels.size() > page.options.top)
      page.More(Plural(static_cast<int64_t>(channels.size() - page.options.top), "channel") + " more");
  }
  const auto& instants = page.summary.program.instants;
  if (instants.empty()) return;
  page.Heading("Instants");
  TextTable table({{"count", Align::kRight}, {"instant", Align::kLeft}});
  for (size_t i = 0; i < std::min(instants.size(), page.options.top); ++i)
    table.AddRow({Count(instants[i].count), Printable(instants[i].name)});
  page.Table(table);
  if (instants.size() > page.options.top)
    page.More(Plural(static_cast<int64_t>(instants.size() - page.options.top), "instant") + " more");
}

void PrintCounters(const ReportPage& page) {
  std::vector<analysis::CounterSummary> counters = page.summary.program.counters;
  std::erase_if(counters, [](const analysis::CounterSummary& row) { return analysis::IsWork(row.name); });
  if (counters.empty()) return;
  page.Heading("Counters of the program");
  TextTable table({{"updates", Align::kRight},
                   {"first", Align::kRight},
                   {"last", Align::kRight},
                   {"lowest", Align::kRight},
                   {"mean", Align::kRight},
                   {"highest", Align::kRight},
                   {"counter", Align::kLeft}});
  for (size_t i = 0; i < std::min(counters.size(), page.options.top); ++i) {
    const analysis::CounterSummary& row = counters[i];
    table.AddRow({Count(row.updates), FormatCount(row.first), FormatCount(row.last), FormatCount(row.low),
                  FormatCount(row.mean), FormatCount(row.high), Printable(row.name)});
  }
  page.Table(table);
  if (counters.size() > page.options.top)
    page.More(Plural(static_cast<int64_t>(counters.size() - page.options.top), "counter") + " more");
}

}  // namespace attune::cli
