#pragma once
/// The live server: the page over HTTP, and views of a Source over a WebSocket (docs/live.md describes the protocol).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "live/server_options.h"
#include "model/source.h"

namespace attune::live {

struct ServerStats {
  size_t clients = 0;
  uint64_t updates = 0;             ///< messages with data sent
  uint64_t bytes = 0;               ///< in them
  size_t largest_client_bytes = 0;  ///< the most bytes that ever waited in memory for one client
};

/// Runs on threads of its own and never calls back into the caller except through ServerOptions. A slow client costs
/// one message of memory and no samples: it gets the next message when it has taken the one before and given a credit.
class Server {
 public:
  /// @param source must outlive the server
  /// @return kInvalidArgument for an address without TLS that others can reach, kUnavailable when the port is taken,
  ///         kPermission when the system refuses it, kIo for certificate files that do not load
  static Result<std::unique_ptr<Server>> Start(model::Source& source, ServerOptions options);
  virtual ~Server() = default;

  /// With the token in the fragment.
  virtual std::string Url() const = 0;
  virtual uint16_t Port() const = 0;
  virtual ServerStats Stats() const = 0;
  /// Closes all connections and joins the threads. Idempotent.
  virtual void Stop() = 0;
};

}  // namespace attune::live
