// SPDX-License-Identifier: BSD-3-Clause
#include "observe/stopped.hpp"

#include <algorithm>

namespace rankwise::tune {

StoppedReader::StoppedReader(const std::string &proc, const std::string &sys, std::int32_t process) {
    Text text;
    if (!text.read(proc + "/" + std::to_string(process) + "/cgroup")) {
        return;
    }
    for (auto rest = text.view(); !rest.empty();) { // `0::/path`, `8:freezer:/path`
        const auto line = next_line(rest);
        const auto first = line.find(':');
        const auto second = line.find(':', std::min(first, line.size() - 1) + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) {
            continue;
        }
        const auto controllers = line.substr(first + 1, second - first - 1);
        const auto path = line.substr(second + 1);
        if (controllers.empty()) {
            freezers_.emplace_back(control_group_file(sys, "", path, "cgroup.events"));
            freezers_.emplace_back(control_group_file(sys, "/unified", path, "cgroup.events"));
        } else if (controllers.find("freezer") != std::string_view::npos) {
            freezers_.emplace_back(control_group_file(sys, "/freezer", path, "freezer.state"));
        }
    }
}

bool StoppedReader::read(Text &text, const std::vector<ThreadSample> &threads) {
    const auto is_stopped = [](const ThreadSample &thread) {
        return thread.state == 'T' || thread.state == 't';
    };
    if (std::ranges::all_of(threads, is_stopped)) {
        return true;
    }
    Seconds run = 0;
    for (const auto &thread : threads) {
        run += thread.run;
    }
    if (run != std::exchange(run_, run)) {
        return false; // it ran: the files need not be read
    }
    return std::ranges::any_of(freezers_, [&](KeptFile &file) {
        return file.read(text) &&
               (text.view().find("frozen 1") != std::string_view::npos || text.view().starts_with("FROZEN"));
    });
}

} // namespace rankwise::tune
