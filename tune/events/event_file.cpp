// SPDX-License-Identifier: BSD-3-Clause
#include "events/event_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>

#include "error.hpp"
#include "events/event_line.hpp"
#include "proc/clock.hpp"

namespace rankwise::tune {
EventFile::EventFile(const std::string &path) : path_(path) {
    if (const auto problem = open_again(); !problem.empty()) {
        throw Error(problem);
    }
}

std::string EventFile::open_again() {
    if (path_.empty()) {
        return {};
    }
    Descriptor file(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!file) {
        return "cannot write `" + path_ + "`: " + std::strerror(errno);
    }
    file_ = std::move(file);
    return {};
}

std::string EventFile::add(const Event &event) {
    auto line = event_line(event, clock_s(CLOCK_REALTIME) - clock_s(CLOCK_MONOTONIC));
    if (file_) {
        line += '\n';
        // A full disk ends no tuner.
        [[maybe_unused]] const ssize_t count = write(file_.number(), line.data(), line.size());
        line.pop_back();
    }
    return line;
}

} // namespace rankwise::tune
