#pragma once
/// MPI's functions in OTF2's terms, and its records. Included where the archive is written.

#include <otf2/otf2.h>

#include <functional>
#include <string>
#include <string_view>

#include "export/otf2_communicators.h"
#include "export/otf2_events.h"

namespace attune::exports {

/// @param function "MPI_Iallreduce". OTF2 has no operations of neighbourhoods: they count as those of all ranks.
OTF2_CollectiveOp CollectiveOpOf(std::string_view function);
/// @param function "MPI_Send"
OTF2_RegionRole MpiRoleOf(std::string_view function);

/// @param function of a collective operation
void WriteMpiRecord(OTF2_EvtWriter* writer, OTF2_TimeStamp time, const Otf2Message& message, std::string_view function,
                    const Otf2Communicators& communicators);
/// Groups and communicators, after the locations. @param text gives a string its number; the strings are written before
void WriteMpiDefinitions(OTF2_GlobalDefWriter* definitions, const model::Metadata& meta,
                         const Otf2Communicators& communicators,
                         const std::function<OTF2_StringRef(const std::string&)>& text);

}  // namespace attune::exports
