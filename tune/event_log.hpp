// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "group.hpp"
#include "system.hpp"

namespace rankwise::tune {

/// @brief Says what happens, each event with its moment.
class EventLog {
  public:
    EventLog(System &system, std::function<void(const Event &)> out);

    void add(Event event) const;
    void add(Event::What what, const std::string &group, std::string why,
             std::vector<std::int32_t> ranks = {}) const;

    /// @brief Once from one attempt in a group to the next.
    void add_once(Group &group, const std::string &name, Event::What what, const std::string &why) const;
    void add_once(Group &group, const std::string &name, const Proposal &proposal) const;

  private:
    System &system_;
    std::function<void(const Event &)> out_;
};

} // namespace rankwise::tune
