// SPDX-License-Identifier: BSD-3-Clause
#include "act/cpuset.hpp"

#include <algorithm>

#include "proc/pu_list.hpp"
#include "proc/tasks.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

std::optional<PuSet> read_list(Text &text, const std::string &path) {
    const auto set = text.read(path) ? parse_pu_list(text.view()) : std::nullopt;
    return set && set->any() ? set : std::nullopt;
}

/// @brief Of a control group, or of the nearest above it that has the controller.
std::optional<PuSet> nearest(Text &text, const std::string &sys, std::string_view hierarchy,
                             std::string_view group, std::string_view name) {
    for (;;) {
        if (auto set = read_list(text, control_group_file(sys, hierarchy, group, name));
            set || group.empty()) {
            return set;
        }
        group = group.substr(0, group.rfind('/'));
    }
}

bool has_cpuset(std::string_view controllers) { // `cpu,cpuset`
    constexpr std::string_view name = "cpuset";
    for (auto rest = controllers; !rest.empty();) {
        const auto comma = std::min(rest.find(','), rest.size());
        if (rest.substr(0, comma) == name) {
            return true;
        }
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return false;
}

} // namespace

PuSet cpuset_of(const std::string &proc, const std::string &sys, std::int32_t process) {
    Text text, lines;
    PuSet set = read_list(text, sys + "/devices/system/cpu/online").value_or(PuSet{}.set());
    if (!lines.read(proc + "/" + std::to_string(process) + "/cgroup")) {
        return set;
    }
    for (auto rest = lines.view(); !rest.empty();) { // `0::/path` is version 2, `3:cpuset:/path` version 1
        const auto line = next_line(rest);
        const auto first = line.find(':'), second = line.find(':', std::min(first, line.size() - 1) + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) {
            continue;
        }
        const auto controllers = line.substr(first + 1, second - first - 1);
        const auto group = line.substr(second + 1);
        if (controllers.empty()) {
            for (const auto *const root : {"", "/unified"}) { // the latter beside version 1
                if (const auto allowed = nearest(text, sys, root, group, "cpuset.cpus.effective")) {
                    set &= *allowed;
                }
            }
        } else if (has_cpuset(controllers)) {
            if (const auto allowed = nearest(text, sys, "/cpuset", group, "cpuset.effective_cpus")) {
                set &= *allowed;
            }
        }
    }
    return set;
}

PuSet to_give_back(const std::string &proc, std::int32_t process, std::int32_t thread, const PuSet &mask,
                   const PuSet &cpuset) {
    if (cpuset.any() && (cpuset & ~mask).none()) {
        return PuSet{}.set();
    }
    const auto path = proc + "/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/status";
    Text text;
    const auto whole = text.read(path) ? mask_in_status(text.view()) : std::nullopt;
    // Somebody may have changed it between the two looks.
    return whole && (*whole & cpuset) == mask ? *whole : mask;
}

} // namespace rankwise::tune
