#pragma once
/// A part of a session (docs/adding-a-component.md).

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "session/core/verb.h"

namespace attune::session {

/// Rows of the table info.
using InfoRows = std::vector<std::pair<std::string, std::string>>;

/// Constructors touch nothing outside: `attune ctl` makes components without a session, to ask for their verbs.
/// Destructors end what Start() began, also where it failed in the middle and where Stop() was not called.
/// @thread the session process's main one, unless said otherwise
class Component {
 public:
  /// Order of stopping. Those of one phase stop in the order in which they started, kWriting in the reverse order.
  enum class Phase : uint8_t {
    kProducing,  ///< publishes rows; totals are taken when all of these have stopped
    kReading,    ///< needs the totals, and the recording before it is complete
    kWriting,    ///< takes rows to the last
  };

  Component() = default;
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;
  virtual ~Component() = default;

  /// Begins. Components that were made before this one have started; an error ends the session.
  virtual Status Start() { return {}; }
  /// True: errors of Start() except those of room are about what the user asked for. Else this host lacks something,
  /// and a program can run unobserved.
  virtual bool IsChosen() const { return false; }

  virtual Phase StopPhase() const { return Phase::kProducing; }
  /// Delivers what is left and ends. Once, after Start().
  virtual void Stop() {}
  /// Adds rows for the end of the recording. Called once, after those of kProducing have stopped.
  virtual void Totals(InfoRows& /*rows*/) {}

  /// The verbs that this component carries out. Their functions are called after all components have started.
  virtual std::vector<Verb> Verbs() { return {}; }
  /// Adds to the answer of `status`.
  virtual void Describe(nlohmann::json& /*status*/) const {}

  /// A program that is to be observed, once FollowingComponent follows it.
  /// @param runs_already false: it is a child that waits to be let go, until its launcher has an answer
  virtual void OnProgram(pid_t /*pid*/, bool /*runs_already*/) {}

  /// The main loop: descriptors to wait for, what to do when one may be ready, and what to do every second.
  virtual void AddPollFds(std::vector<int>& /*fds*/) const {}
  virtual void Serve() {}
  virtual void EverySecond() {}
};

/// In the order of dependence; destroyed in the reverse order.
class ComponentList {
 public:
  ComponentList() = default;
  ComponentList(const ComponentList&) = delete;
  ComponentList& operator=(const ComponentList&) = delete;
  ~ComponentList() { Clear(); }
  void Clear() {
    while (!components_.empty()) components_.pop_back();
  }

  template <class T, class... Arguments>
  T& Add(Arguments&&... arguments) {
    auto made = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    T& component = *made;
    Add(std::move(made));
    return component;
  }
  void Add(std::unique_ptr<Component> component) { components_.push_back(std::move(component)); }
  auto begin() const { return components_.begin(); }
  auto end() const { return components_.end(); }
  auto rbegin() const { return components_.rbegin(); }
  auto rend() const { return components_.rend(); }

 private:
  std::vector<std::unique_ptr<Component>> components_;
};

}  // namespace attune::session
