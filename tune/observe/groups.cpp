// SPDX-License-Identifier: BSD-3-Clause
#include "observe/groups.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <sys/stat.h>

#include "proc/tasks.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

constexpr int most_parents = 64;
constexpr std::size_t most_letters = 64; // of a node of a lab

/// Names of processes, as long as the kernel keeps them (15 letters), that start ranks: Hydra's, PRRTE's and
/// ORTE's, Slurm's, PALS', Flux', and mpiexec, of which ranks of one node may be children.
constexpr std::array<std::string_view, 14> launchers{
    "hydra_pmi_proxy", "hydra_bstrap_pr", "mpiexec", "mpiexec.hydra", "mpirun", "orterun",    "prterun",
    "orted",           "prted",           "prte",    "slurmstepd",    "palsd",  "flux-shell", "srun"};

/// A name is shown and logged again and again.
bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= most_letters && std::ranges::all_of(text, [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
               (letter >= '0' && letter <= '9') || letter == '.' || letter == '-' || letter == '_';
    });
}

std::string lab_node(const std::string &proc, std::int32_t process) {
    constexpr std::string_view key = "RANKWISE_LAB_NODE=";
    Text text;
    if (!text.read(proc + "/" + std::to_string(process) + "/environ", Text::most_of_users)) {
        return {};
    }
    for (auto rest = text.view(); !rest.empty();) {
        const auto end = std::min(rest.find('\0'), rest.size());
        const auto entry = rest.substr(0, end);
        if (entry.starts_with(key) && is_name(entry.substr(key.size()))) {
            return std::string(entry.substr(key.size()));
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return {};
}

/// A number for its control groups: what Slurm adds for each rank (`task_3`) apart.
std::string control_group(const std::string &proc, std::int32_t process) {
    Text text;
    if (!text.read(proc + "/" + std::to_string(process) + "/cgroup", Text::most_of_users)) {
        return {};
    }
    std::uint64_t number = 0xcbf29ce484222325U; // FNV-1a
    for (auto rest = text.view(); !rest.empty();) {
        auto line = next_line(rest);
        line = line.substr(0, line.find("/task_"));
        for (const char letter : line) {
            number = (number ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
        }
    }
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number >> 32U, 16).ptr;
    return {digits.data(), end};
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

std::string group_of(const std::string &proc, std::int32_t process, std::int32_t ranks, bool in_lab) {
    struct stat status{};
    auto name = launcher_of(proc, process);
    if (::stat((proc + "/" + std::to_string(process)).c_str(), &status) == 0) {
        name += "/user-" + std::to_string(status.st_uid);
    }
    if (ranks > 0) {
        name += "/ranks-" + std::to_string(ranks);
    }
    if (const auto number = control_group(proc, process); !number.empty()) {
        name += "/cgroup-" + number;
    }
    const auto node = in_lab ? lab_node(proc, process) : "";
    return name + (node.empty() ? "" : "/" + node);
}

} // namespace rankwise::tune
