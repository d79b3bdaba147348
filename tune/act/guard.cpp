// SPDX-License-Identifier: BSD-3-Clause
#include "act/guard.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "act/restore.hpp"

namespace rankwise::tune {
namespace {

void close_but(std::array<int, 2> kept) {
    if (kept[0] > kept[1]) {
        std::swap(kept[0], kept[1]);
    }
    const std::array<std::array<int, 2>, 3> ranges{
        {{3, kept[0] - 1}, {kept[0] + 1, kept[1] - 1}, {kept[1] + 1, INT32_MAX}}};
    for (const auto &[first, last] : ranges) {
        if (first > last || first < 3) {
            continue;
        }
#ifdef SYS_close_range
        if (syscall(SYS_close_range, first, last, 0) == 0) {
            continue;
        }
#endif
        for (int file = first; file <= last && file < sysconf(_SC_OPEN_MAX); ++file) {
            close(file);
        }
    }
}

void be_apart() {
    setsid();
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) {
        signal(number, SIG_IGN);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    prctl(PR_SET_NAME, "rankwise-guard");
    setpriority(PRIO_PROCESS, 0, -10); // where it may: ranks that spin are on all cores
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int stream = 0; stream < 3 && nothing >= 0; ++stream) {
        dup2(nothing, stream);
    }
}

} // namespace

Guard::Guard(std::string state, std::string proc, std::string sys, int lock)
    : state_(std::move(state)), proc_(std::move(proc)), sys_(std::move(sys)), lock_(lock) {}

void Guard::guard(int pipe_end) {
    be_apart();
    close_but({pipe_end, lock_});
    char byte = 0;
    while (read(pipe_end, &byte, 1) < 0 && errno == EINTR) {
    }
    restore_from(state_, proc_, sys_);
    _exit(0);
}

bool Guard::watch() {
    if (process_ > 0 && waitpid(process_, nullptr, WNOHANG) == 0) {
        return true;
    }
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        process_ = -1;
        return false;
    }
    Descriptor theirs(ends[0]);
    alive_ = Descriptor(ends[1]);
    process_ = fork();
    if (process_ == 0) {
        alive_.reset();
        guard(theirs.number());
    }
    return process_ > 0;
}

} // namespace rankwise::tune
