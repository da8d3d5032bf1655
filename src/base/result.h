#pragma once
/// Result<T>: a value or an Error, never ignored. Named after std::expected (which g++ 12 lacks).
///
/// An Error says what happened (`message`, with the place), and what to do about it (`hint`). Exceptions are used only
/// by other people's code and are caught at the thread or RPC boundary.

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace attune {

/// Closed set of reasons. ExitCode() in cli/ maps them to the process's exit code.
enum class Errc {
  kInvalidArgument,  ///< the user asked for something that makes no sense (usage, exit 2)
  kNotFound,         ///< a named thing does not exist
  kExists,           ///< an output is there already
  kUnavailable,      ///< this host cannot do it (exit 3)
  kPermission,       ///< the kernel refused (exit 4)
  kIo,               ///< reading or writing failed
  kNoSpace,          ///< a limit of disk, memory, descriptors or processes is reached
  kTooLarge,         ///< a file would exceed a limit of its size: waiting does not help
  kCorrupt,          ///< foreign bytes do not parse
  kTargetFailed,     ///< the observed program could not be started or failed (exit 5)
  kTimeout,
  kInternal,
};

struct Error {
  Errc code = Errc::kInternal;
  std::string message;  ///< one sentence, names the place (file, offset, option)
  std::string hint;     ///< advice on what to do; may be empty

  /// Prefixes the message with where it happened: "opening x.attune: no such file".
  Error WithContext(std::string_view context) const& { return {code, std::string(context) + ": " + message, hint}; }
};

/// The Errc that fits an errno value.
inline Errc ErrcFromErrno(int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM: return Errc::kPermission;
    case ENOENT:
    case ESRCH: return Errc::kNotFound;
    case EEXIST: return Errc::kExists;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case ENOMEM: return Errc::kNoSpace;
    case EFBIG: return Errc::kTooLarge;
    case EINVAL: return Errc::kInvalidArgument;
    case ENOSYS:
    case EOPNOTSUPP:
    case ENODEV: return Errc::kUnavailable;
    default: return Errc::kIo;
  }
}

/// Error from errno: "what: Permission denied".
inline Error ErrnoError(std::string_view what, int error_number = errno) {
  return {ErrcFromErrno(error_number), std::string(what) + ": " + std::strerror(error_number), ""};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }
  T value_or(T other) const& { return ok() ? value() : std::move(other); }  // NOLINT(performance-*)

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace attune

#define ATTUNE_CONCAT_INNER(a, b) a##b
#define ATTUNE_CONCAT(a, b) ATTUNE_CONCAT_INNER(a, b)

/// ATTUNE_TRY(auto x, F()): x = the value of F(), or return its Error.
#define ATTUNE_TRY(declaration, expression) \
  ATTUNE_TRY_INNER(declaration, expression, ATTUNE_CONCAT(attune_try_, __LINE__))
#define ATTUNE_TRY_INNER(declaration, expression, name) \
  auto name = (expression);                             \
  if (!name.ok()) return name.error();                  \
  declaration = *std::move(name)

/// ATTUNE_CHECK_OK(F()): return F()'s Error if it failed.
#define ATTUNE_CHECK_OK(expression)                                                                  \
  do {                                                                                               \
    if (const auto& attune_status = (expression); !attune_status.ok()) return attune_status.error(); \
  } while (false)
