#pragma once
/// Keys and certificates of TLS out of files, and tickets, by which a peer that had logged in is known before anything
/// is computed for it.
///
/// A handshake stops with an error once the greeting has been read; HasGreeted() is true then, and the next one goes
/// on. Tickets (RFC 8446, 4.6.1) are given to nobody but by GiveTickets(), so that showing one proves a login. With a
/// ticket the handshake needs no operation of the private key either.

#include <boost/asio/ssl/context.hpp>

#include <string>

#include "base/result.h"

namespace attune::live {

/// @param certificate a PEM file with the certificate chain @param key the PEM file of its private key, without a
/// passphrase @return an error names the file and what is wrong with it
Result<boost::asio::ssl::context> MakeTlsContext(const std::string& certificate, const std::string& key);

bool HasGreeted(const SSL* tls);
/// Whether the greeting showed a ticket of this server. Another one could have read it on its way: it may decide who
/// comes first, never who may come in.
bool ShowedTicket(const SSL* tls);
/// Bytes that have come and were not read yet. Part of a record stays for the next read.
std::string DecryptedBytes(SSL* tls);
/// Sends tickets before the next bytes that are sent. Before TLS 1.3 there are none.
void GiveTickets(SSL* tls);

}  // namespace attune::live
