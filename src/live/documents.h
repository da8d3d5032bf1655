#pragma once
/// The answers about what is computed from the data as a whole (docs/live.md), for all clients of one source.

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "live/analyses.h"
#include "live/message.h"
#include "model/source.h"

namespace attune::live {

class Documents {
 public:
  /// @param source must outlive this @param analyses nullptr: there are none, and nothing may be asked for
  /// @param least_interval between two computations of a document; they also take a quarter of the time at most
  Documents(model::Source& source, std::unique_ptr<Analyses> analyses, std::chrono::milliseconds least_interval)
      : source_(source),
        analyses_(std::move(analyses)),
        least_interval_(least_interval),
        kinds_(analyses_ == nullptr ? std::vector<DocumentKind>() : analyses_->Documents()) {}

  /// @return kInvalidArgument: there is no such document, or not of a part of the time @thread any
  Status Check(const DocumentRequest& request) const;
  /// A `document` message: the newest that may be computed by now. Without the text where the client holds it.
  /// @thread one at a time @cost that of Analyses::Document, or nothing
  std::string DocumentMessage(const DocumentRequest& asked, int64_t origin_ns);
  /// A `source` message. @thread as DocumentMessage
  std::string SourceMessage(const SourceRequest& request);
  /// A `timeline` message. @thread one at a time, beside the other two
  std::string TimelineMessage(TimelineRequest request, int64_t origin_ns);
  /// A `ranks` message. @thread as TimelineMessage
  std::string RanksMessage(TimelineRequest request, int64_t origin_ns);

 private:
  struct Kept {
    uint64_t version = 0;         ///< another one for all that was computed; 0: nothing
    uint64_t source_version = 0;  ///< that it was computed of
    bool growing = true;          ///< whether more might come then
    std::chrono::steady_clock::time_point next{};
    std::string text;
    std::string error;
  };
  /// A document of a part of the time. Of those that were asked for before, the last few are kept.
  struct Part {
    std::string name;
    model::TimeRange range;
    Kept kept;
  };
  static constexpr size_t kMaxParts = 8;

  Kept& KeptOf(const DocumentRequest& request);
  void Refresh(const DocumentRequest& request, Kept& kept);

  model::Source& source_;
  const std::unique_ptr<Analyses> analyses_;
  const std::chrono::milliseconds least_interval_;
  const std::vector<DocumentKind> kinds_;
  uint64_t last_version_ = 0;
  std::map<std::string, Kept> kept_;  ///< by name
  std::list<Part> parts_;             ///< the one asked for last first
};

}  // namespace attune::live
