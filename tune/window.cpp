// SPDX-License-Identifier: BSD-3-Clause
#include "window.hpp"

#include <optional>

#include "judge/trial.hpp"

namespace rankwise::tune {
namespace {

// Of whole iterations, so that it matters little where in one a window begins and ends; after a while of
// fewer, the least of which there are two in each half.
constexpr std::uint64_t iterations_to_decide = 8, fewest_to_decide = 4;

} // namespace

bool is_window(const Group &group, const Sample &own, const std::string &name, const Policy &policy,
               std::uint64_t part) {
    const Seconds since = (own.at - group.base->at) * static_cast<double>(part);
    const std::optional<std::uint64_t> ended = iterations_between(*group.base, own, name, group.silent);
    if (!ended)
        return since >= 0.4 * policy.period;
    const std::uint64_t iterations = *ended * part;
    // Of those that are too long nothing follows but that.
    return iterations >= iterations_to_decide ||
           (since >= longest_window &&
            (iterations >= fewest_to_decide || !too_long(group, *group.base, own, name, policy).empty()));
}

void note_middle(Group &group, const Sample &own, const std::string &name, const Policy &policy) {
    if (group.base && !group.middle && is_window(group, own, name, policy, 2))
        group.middle = own;
}

std::string too_long(const Group &group, const Sample &before, const Sample &after, const std::string &name,
                     const Policy &policy) {
    const Seconds longest = Trial::longest_measured(policy);
    const std::optional<std::uint64_t> ended = iterations_between(before, after, name, group.silent);
    if (!ended || after.at - before.at <= longest * static_cast<double>(*ended + 1))
        return {};
    return "its iterations take longer than " + std::to_string(static_cast<int>(longest)) +
           " s: a change could not be measured in time";
}

bool has_two_phases(const Group &group, const Sample &base, const Sample &middle, const Sample &own,
                    const std::string &name) {
    return !group.shares_units() &&
           !are_same(behaviour_between(base, middle, name, group.capability, group.silent),
                     behaviour_between(middle, own, name, group.capability, group.silent));
}

} // namespace rankwise::tune
