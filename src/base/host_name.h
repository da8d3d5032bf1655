#pragma once
/// Name of this host.

#include <string>

namespace attune {

/// As the kernel says it (uname); "localhost" where it says nothing.
std::string HostName();

}  // namespace attune
