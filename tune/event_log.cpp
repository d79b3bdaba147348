// SPDX-License-Identifier: BSD-3-Clause
#include "event_log.hpp"

#include <utility>

namespace rankwise::tune {
namespace {

// So many different things are said of a group from one attempt to the next.
constexpr std::size_t most_said = 32;

bool is_new(Group &group, const std::string &key) {
    return group.said.size() < most_said && group.said.insert(key).second;
}

} // namespace

EventLog::EventLog(System &system, std::function<void(const Event &)> out)
    : system_(system), out_(std::move(out)) {}

void EventLog::add(Event event) const {
    event.at = system_.now();
    out_(event);
}

void EventLog::add(Event::What what, const std::string &group, std::string why,
                   std::vector<std::int32_t> ranks) const {
    Event event;
    event.what = what;
    event.group = group;
    event.why = std::move(why);
    event.ranks = std::move(ranks);
    add(std::move(event));
}

void EventLog::add_once(Group &group, const std::string &name, Event::What what,
                        const std::string &why) const {
    if (is_new(group, why))
        add(what, name, why);
}

void EventLog::add_once(Group &group, const std::string &name, const Proposal &proposal) const {
    if (!is_new(group, target_of(proposal.change, proposal.mapping)))
        return;
    Event event;
    event.what = Event::proposed;
    event.group = name;
    event.why = proposal.why;
    event.change = proposal.change;
    event.ranks = proposal.ranks;
    event.estimated_gain = proposal.gain;
    add(std::move(event));
}

} // namespace rankwise::tune
