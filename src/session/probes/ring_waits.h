#pragma once
/// The elements that a ring's locks and waits are about: an object (a mutex, a barrier, ...) is an address of a
/// process, a site is a place in the file of a program or library.
///
/// A site's module is known from the program's own reports (track::RingModule), else from
/// /proc/PID/maps, as long as the process is there; else the site is a bare address. What its code is called is looked
/// up when the session ends (session/site_names.h).

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/host_root.h"
#include "session/core/pipeline.h"
#include "session/core/process_table.h"
#include "session/core/registry.h"
#include "session/probes/code_sites.h"
#include "session/probes/lock_names.h"
#include "track/ring_reader.h"
#include "wire/sync.h"

namespace attune::session {

/// Objects and sites of one ring. Bounded: objects beyond kMaxObjects share an element per process and class, sites
/// beyond CodeSites::kMaxSites share one. @thread one at a time
class RingWaits {
 public:
  static constexpr size_t kMaxObjects = 16'384;

  RingWaits(const HostRoot& host, ProcessTable& processes, Registry& registry, Pipeline& pipeline, LockNames& names)
      : host_(host),
        processes_(processes),
        registry_(registry),
        lock_names_(names),
        sites_(host, processes, registry, pipeline) {}

  /// To be called before the sites that lie in them come.
  void AddModules(std::vector<track::RingModule> modules);

  /// Likewise.
  void AddSources(std::vector<track::RingSource> sources);

  /// Whether the descriptor that a wait of kind kFile is of belongs to a file or a block device, as far as it was ever
  /// seen to be anything. @param object as in the ring
  bool IsFile(int32_t pid, uint64_t object);
  /// The only other followed process that has the pipe of a descriptor open, if it has a single thread: the one that a
  /// wait of kind kFile is for. 0: it is no pipe, or several could end the wait.
  /// @param object as in the ring  @cost a look at the descriptors of all followed processes
  int32_t OtherEndOfPipe(int32_t pid, uint64_t object) const;
  /// Descriptors may be of something else from now on.
  void ForgetDescriptors() { looked_at_.clear(); }

  /// The elements; made, and their rows published, if they are new.
  model::ElementId Object(int32_t pid, wire::SyncKind kind, uint64_t address);
  /// @param ticks when the thread was there: another library may have been at the address before, or after
  model::ElementId Site(int32_t pid, uint64_t address, uint64_t ticks);

 private:
  struct Known {
    model::ElementId element = 0;
    bool is_only = false;  ///< nothing else was ever at this address
  };

  /// nullptr: none was told that lies there.
  const track::RingModule* FindModule(int32_t pid, uint64_t address, uint64_t ticks, bool& is_only) const;
  CodePosition Find(int32_t pid, uint64_t address, uint64_t ticks, bool& is_only);
  void AskForName(int32_t pid, uint64_t address, model::ElementId object, std::string_view what);
  const track::RingSource* FindSource(int32_t pid, uint64_t address) const;

  const HostRoot& host_;
  ProcessTable& processes_;
  Registry& registry_;
  LockNames& lock_names_;
  std::vector<track::RingModule> modules_;                             ///< as they were told
  std::map<std::pair<uint64_t, int32_t>, track::RingSource> sources_;  ///< by site and pid, the last one told
  std::map<std::pair<int32_t, uint64_t>, bool> is_file_;  ///< by pid and object, as of the last look that told
  std::set<std::pair<int32_t, uint64_t>> looked_at_;      ///< since ForgetDescriptors()
  std::map<std::tuple<int32_t, std::string_view, uint64_t>, model::ElementId> objects_;  ///< pid, what it is, address
  std::map<std::pair<int32_t, uint64_t>, Known> known_;  ///< pid, address; anew whenever a module is told
  CodeSites sites_;
};

}  // namespace attune::session
