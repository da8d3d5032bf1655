#pragma once
/// Settings of the live server: its address, which parts of the session it may show and change, and its limits.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "live/analyses.h"
#include "live/compared.h"
#include "live/console.h"
#include "live/message.h"
#include "model/source.h"

namespace attune::live {

struct ServerOptions {
  std::string address = "127.0.0.1";  ///< a numeric address; anything but loopback needs the two TLS files
  uint16_t port = 0;                  ///< 0: any free one
  std::string token;                  ///< empty: 128 random bits
  std::string title;                  ///< session name that the page shows
  std::string reopen;                 ///< command that shows the same once the server is gone; empty: there is none
  std::string tls_cert;               ///< PEM file with the certificate chain
  std::string tls_key;                ///< PEM file with the private key

  /// Somebody at the page adds a label. Empty: labels cannot be added, and the page does not offer it.
  /// @param t_ns the label's time; kAbsent: now @thread a server thread
  std::function<Status(int64_t t_ns, const std::string& text)> on_label;

  /// Somebody at the page pauses, goes on, or changes an interval. Empty: the page does not offer it. @thread as
  /// on_label
  std::function<Status(const ControlRequest&)> on_control;
  /// Somebody who has the token wants a knob tried or taken back. Empty: the page does not offer it. @thread as
  /// on_label
  std::function<Status(const TuneRequest&)> on_tune;
  /// Whether sampling is paused now, by whomever. Empty: never. @thread a server thread
  std::function<bool()> is_paused;
  /// Somebody looks (true), or nobody does any more. Empty: not asked. @thread a server thread
  std::function<void(bool)> on_watched;
  /// Opens a recording that somebody at the page loads from a file of theirs. Empty: the page does not offer it.
  /// @param path of a temporary copy without a name, valid until the source's end @thread a server thread
  std::function<Result<std::unique_ptr<model::Source>>(const std::string& path)> open_recording;
  /// Compares what a client sees with another recording of theirs. Empty: the page does not offer it. @thread as above
  CompareFunction compare;
  /// Computes what the page shows of the data as a whole. Empty: the page does not offer it. @thread as above
  AnalyseFunction analyse;
  /// Runs programs for whoever shows the token. Empty: the page does not offer it.
  std::shared_ptr<Console> console;
  /// Recording that every client compares with at first; nullptr: none. Must outlive the server.
  model::Source* compare_with = nullptr;
  std::string compare_with_title;
  uint64_t max_loaded_bytes = uint64_t{1} << 30;  ///< total of all copies of loaded files, in the temporary folder

  size_t max_clients = 32;                          ///< open WebSockets; further ones are refused with 503
  size_t max_connections = 96;                      ///< that have logged in; further ones are closed at once
  size_t max_strangers = 512;                       ///< that have not; a newcomer takes the place of an older one
  std::chrono::milliseconds request_limit{10'000};  ///< for a whole request, so that nobody drips headers
  std::chrono::milliseconds idle_limit{30'000};     ///< for a client that answers no ping
  /// Between two updates that a client did not ask for. After a longer pause two may follow at once.
  std::chrono::milliseconds min_update_interval{33};
  std::chrono::milliseconds min_document_interval{2000};  ///< between two computations of a document
};

}  // namespace attune::live
