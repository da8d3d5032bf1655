#pragma once
/// What TLS needs of files.

#include <boost/asio/ssl/context.hpp>

#include <string>

#include "base/result.h"

namespace attune::live {

/// @param certificate a PEM file with the certificate chain @param key the PEM file of its private key, without a
/// passphrase @return an error names the file and what is wrong with it
Result<boost::asio::ssl::context> MakeTlsContext(const std::string& certificate, const std::string& key);

}  // namespace attune::live
