#pragma once
/// What the recordings of several hosts say of themselves, as what their merged recording says.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "merge/merged_host.h"
#include "model/source.h"

namespace attune::merge {

/// Amounts are added up. Of what is a host's own, that of the first is left, and what cannot be seen on each is said
/// with its name. @param metas of the hosts, one each  @param backward messages that arrive before they left
std::vector<std::pair<std::string, std::string>> MergedInfo(std::span<const model::Metadata* const> metas,
                                                            const std::vector<MergedHost>& hosts, int64_t backward);

}  // namespace attune::merge
