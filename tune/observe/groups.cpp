// SPDX-License-Identifier: BSD-3-Clause
#include "observe/groups.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "proc/tasks.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

constexpr int most_parents = 64;

/// Names of processes, as long as the kernel keeps them (15 letters), that start ranks: Hydra's, PRRTE's and
/// ORTE's, Slurm's, PALS', Flux', and mpiexec, of which ranks of one node may be children.
constexpr std::array<std::string_view, 14> launchers{
    "hydra_pmi_proxy", "hydra_bstrap_pr", "mpiexec", "mpiexec.hydra", "mpirun", "orterun",    "prterun",
    "orted",           "prted",           "prte",    "slurmstepd",    "palsd",  "flux-shell", "srun"};

std::string lab_node(const std::string &proc, std::int32_t process) {
    constexpr std::string_view key = "RANKWISE_LAB_NODE=";
    Text text;
    if (!text.read(proc + "/" + std::to_string(process) + "/environ")) {
        return {};
    }
    for (auto rest = text.view(); !rest.empty();) {
        const auto end = std::min(rest.find('\0'), rest.size());
        if (rest.substr(0, end).starts_with(key)) {
            return std::string(rest.substr(key.size(), end - key.size()));
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return {};
}

std::string launcher_of(const std::string &proc, std::int32_t process) {
    const auto own = read_task_stat(proc, process);
    Text text;
    auto at = own ? own->parent : 0;
    for (int parents = 0; at > 1 && parents < most_parents; ++parents) {
        if (text.read(proc + "/" + std::to_string(at) + "/comm")) {
            auto line = text.view();
            const auto name = next_line(line);
            if (std::ranges::find(launchers, name) != launchers.end()) {
                return std::string(name) + "." + std::to_string(at);
            }
        }
        const auto parent = read_task_stat(proc, at);
        at = parent ? parent->parent : 0;
    }
    return "session." + std::to_string(own ? own->session : 0);
}

} // namespace

std::string group_of(const std::string &proc, std::int32_t process) {
    const auto node = lab_node(proc, process);
    return launcher_of(proc, process) + (node.empty() ? "" : "/" + node);
}

} // namespace rankwise::tune
