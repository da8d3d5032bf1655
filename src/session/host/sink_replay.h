#pragma once
/// A finished recording through a sink, as if it happened now: the same path as that of a session.

#include <functional>

#include "base/result.h"
#include "model/source.h"
#include "sink/plugin_sink.h"

namespace attune::session {

/// Hands over what the source has at this moment, in parts by time, and finishes the sink. A sink that cannot keep up
/// is waited for, and one that crashes is the end. Errors: those of the sink and of reading.
/// @param options without metadata and restarts, which this sets  @param progress is told 0 to 1; may be empty
Result<sink::SinkTotals> ReplayInto(model::Source& source, sink::SinkOptions options,
                                    const std::function<void(double done)>& progress);

}  // namespace attune::session
