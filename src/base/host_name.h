#pragma once
/// What this host is called.

#include <string>

namespace attune {

/// As the kernel says it (uname); "localhost" where it says nothing.
std::string HostName();

}  // namespace attune
