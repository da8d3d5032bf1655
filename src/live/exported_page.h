#pragma once
/// A recording as one HTML file: the page, and the answers that a server would give it. A browser shows it from the
/// disk, without a server and without a network. docs/export.md describes the file.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "live/analyses.h"
#include "model/source.h"

namespace attune::live {

/// Takes the next bytes of the file. An Error ends the export.
using PageWriter = std::function<Status(std::string_view bytes)>;
/// Called now and then with what part is done, 0 to 1.
using PageProgress = std::function<void(double done)>;

/// The file is no larger than this, unless what every page needs (documents, the whole time at a coarse resolution) is.
/// The rest goes to finer resolutions, the coarser ones first: of a minute of a common recording they are all there.
inline constexpr size_t kMaxExportedBytes = 2'900'000;

/// "job.attune, 10 s to 12 s": a part of a recording of this title, which is `all` long.
std::string TitleOfPart(const std::string& title, model::TimeRange all, model::TimeRange part);

/// Writes what the source has at this moment. @param title as the page shows it @param progress may be empty
/// @return kUnavailable: attune was built without its page; what reading, and `write`, say
/// @cost seconds, and memory for the compressed file and for the largest of its parts
Status WriteExportedPage(model::Source& source, std::unique_ptr<Analyses> analyses, const std::string& title,
                         const PageWriter& write, const PageProgress& progress = {});

}  // namespace attune::live
