#pragma once
/// The table info of a merged recording.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "merge/merged_host.h"
#include "model/source.h"

namespace attune::merge {

/// Amounts are summed. Properties of a host are those of the first one; limitations of each host are listed with its
/// name. @param metas of the hosts, one each  @param backward messages that arrive before they left
std::vector<std::pair<std::string, std::string>> MergedInfo(std::span<const model::Metadata* const> metas,
                                                            const std::vector<MergedHost>& hosts, int64_t backward);

}  // namespace attune::merge
