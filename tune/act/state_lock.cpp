// SPDX-License-Identifier: BSD-3-Clause
#include "act/state_lock.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

constexpr int waits = 1000; // for the guard of a tuner that was killed
constexpr useconds_t wait_us = 10'000;
constexpr std::size_t number_letters = 10;

bool runs(std::int32_t process) {
    return process > 0 && (kill(process, 0) == 0 || errno == EPERM);
}

std::int32_t owner_in(int file) {
    Text text;
    if (!text.read(file)) {
        return 0;
    }
    auto line = text.view();
    return static_cast<std::int32_t>(as_number(next_word(line)).value_or(0));
}

void make_directory(const std::string &state) {
    struct stat status{};
    if (mkdir(state.c_str(), 0700) != 0 && errno != EEXIST) {
        throw Error("cannot make `" + state + "`: " + std::strerror(errno));
    }
    if (lstat(state.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
        throw Error("`" + state + "` is no directory of this user", "name another one");
    }
}

} // namespace

Descriptor lock_state(const std::string &state, const TaskId &owner) {
    make_directory(state);
    const auto path = state + "/lock";
    Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) {
        throw Error("cannot open `" + path + "`: " + std::strerror(errno));
    }
    for (int i = 0; flock(file.number(), LOCK_EX | LOCK_NB) != 0; ++i) {
        const auto other = owner_in(file.number());
        if (i == waits || runs(other)) {
            throw Error("process `" + std::to_string(other) + "` tunes on this node already",
                        "`rankwise tune stop` ends it");
        }
        usleep(wait_us);
    }
    // Always as long, so that nothing is cut off: on a disk that is written to, that would wait for it.
    auto text = std::to_string(owner.number);
    text.resize(number_letters, ' ');
    text += '\n';
    if (pwrite(file.number(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        throw Error("cannot write `" + path + "`: " + std::strerror(errno));
    }
    return file;
}

} // namespace rankwise::tune
