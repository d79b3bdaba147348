// SPDX-License-Identifier: BSD-3-Clause
#include "act/guard.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int stream = 0; stream < 3 && nothing >= 0; ++stream) {
        dup2(nothing, stream);
    }
}

/// @brief Before all others while this is there, and who is forked meanwhile for ever, where that may be:
/// ranks that spin are on all cores, and a guard has to come before them.
class Foremost {
  public:
    Foremost() : policy_(sched_getscheduler(0)) {
        sched_getparam(0, &before_);
        sched_param first{};
        first.sched_priority = sched_get_priority_min(SCHED_RR);
        done_ = sched_setscheduler(0, SCHED_RR, &first) == 0;
    }
    Foremost(const Foremost &) = delete;
    Foremost &operator=(const Foremost &) = delete;
    ~Foremost() {
        if (done_) {
            sched_setscheduler(0, policy_, &before_);
        }
    }

  private:
    int policy_;
    sched_param before_{};
    bool done_;
};

bool is_armed(int socket) {
    char byte = 0;
    ssize_t count = 0;
    while ((count = read(socket, &byte, 1)) < 0 && errno == EINTR) {
    }
    return count == 1;
}

} // namespace

Guard::Guard(std::string state, std::string proc, std::string sys, int lock)
    : state_(std::move(state)), proc_(std::move(proc)), sys_(std::move(sys)), lock_(lock) {}

void Guard::guard(int socket) {
    be_apart();
    close_but({socket, lock_});
    char byte = 1;
    if (write(socket, &byte, 1) == 1) {
        // The tuner says nothing: what comes is its end.
        while (read(socket, &byte, 1) < 0 && errno == EINTR) {
        }
    }
    restore_from(state_, proc_, sys_);
    _exit(0);
}

bool Guard::watch() {
    if (process_ > 0 && waitpid(process_, nullptr, WNOHANG) == 0) {
        return true;
    }
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        process_ = -1;
        return false;
    }
    Descriptor theirs(ends[0]);
    alive_ = Descriptor(ends[1]);
    {
        const Foremost foremost;
        process_ = fork();
    }
    if (process_ == 0) {
        alive_.reset();
        guard(theirs.number());
    }
    theirs.reset();
    return process_ > 0 && is_armed(alive_.number());
}

} // namespace rankwise::tune
