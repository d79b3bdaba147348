// SPDX-License-Identifier: BSD-3-Clause
#include "act/cpuset.hpp"

#include "proc/pu_list.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

std::optional<PuSet> read_list(Text &text, const std::string &path) {
    const auto set = text.read(path) ? parse_pu_list(text.view()) : std::nullopt;
    return set && set->any() ? set : std::nullopt;
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
        const auto slash = line.find('/');
        if (slash == std::string_view::npos) {
            continue;
        }
        std::optional<PuSet> allowed;
        if (line.starts_with("0::")) {
            allowed =
                read_list(text, control_group_file(sys, "", line.substr(slash), "cpuset.cpus.effective"));
        } else if (line.substr(0, slash).find(":cpuset:") != std::string_view::npos) {
            allowed = read_list(
                text, control_group_file(sys, "/cpuset", line.substr(slash), "cpuset.effective_cpus"));
        }
        if (allowed) {
            set &= *allowed;
        }
    }
    return set;
}

PuSet cut(const PuSet &mask, const PuSet &cpuset) {
    const PuSet rest = mask & cpuset;
    return rest.any() ? rest : cpuset;
}

} // namespace rankwise::tune
