// SPDX-License-Identifier: BSD-3-Clause
#include "act/guard.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "act/restore.hpp"
#include "proc/priority.hpp"

namespace rankwise::tune {
namespace {

void close_from_to(int first, int last) {
#ifdef SYS_close_range
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0) {
        return;
    }
#endif
    for (int file = first; file <= last && file < sysconf(_SC_OPEN_MAX); ++file) {
        close(file);
    }
}

void close_but(const std::set<int> &kept) {
    int first = 3;
    for (const int file : kept) {
        close_from_to(first, file - 1);
        first = file + 1;
    }
    close_from_to(first, INT32_MAX);
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

bool is_armed(int socket) {
    char byte = 0;
    ssize_t count = 0;
    while ((count = read(socket, &byte, 1)) < 0 && errno == EINTR) {
    }
    return count == 1;
}

/// @brief A message with room for one descriptor.
struct Message {
    explicit Message(TaskId &name) : part{&name, sizeof name} {
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = room.data();
        header.msg_controllen = room.size();
    }
    Message(const Message &) = delete;
    Message &operator=(const Message &) = delete;

    iovec part;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
    msghdr header{};
};

Descriptor descriptor_in(Message &message) {
    const auto *const control = CMSG_FIRSTHDR(&message.header);
    int file = -1;
    if (control != nullptr && control->cmsg_type == SCM_RIGHTS) {
        std::memcpy(&file, CMSG_DATA(control), sizeof file);
    }
    return Descriptor(file);
}

} // namespace

Guard::Guard(StateDirectory &directory, std::string proc, std::string sys)
    : directory_(directory), proc_(std::move(proc)), sys_(std::move(sys)) {}

/// Take what the tuner claims and gives back, until it ends.
void Guard::follow(int socket) {
    for (;;) {
        TaskId name;
        Message message(name);
        const ssize_t count = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return;
        }
        auto file = descriptor_in(message);
        if (!file) {
            claims_.erase(name);
        } else if (name == journal_name) {
            journal_ = std::move(file);
        } else if (name == lock_name) {
            directory_.take(std::move(file));
        } else {
            claims_[name] = std::move(file);
        }
    }
}

void Guard::give_back() const {
    if (directory_.is_there()) {
        restore_from(directory_.path(), proc_, sys_, journal_.number());
    } else { // what is there now is not its tuner's
        restore_held(journal_.number(), proc_, sys_);
    }
}

void Guard::guard(int socket) {
    be_apart();
    come_first();
    std::set<int> kept{socket, directory_.lock().number()};
    if (journal_) {
        kept.insert(journal_.number());
    }
    for (const auto &[name, file] : claims_) {
        kept.insert(file.number());
    }
    close_but(kept);
    const char byte = 1;
    if (write(socket, &byte, 1) == 1) {
        follow(socket);
    }
    give_back();
    _exit(0);
}

bool Guard::watch() {
    if (process_ > 0 && waitpid(process_, nullptr, WNOHANG) == 0) {
        return true;
    }
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
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
    theirs.reset();
    return process_ > 0 && is_armed(alive_.number());
}

bool Guard::tell(const TaskId &name, const Descriptor *claimed) const {
    TaskId copy = name;
    Message message(copy);
    if (claimed == nullptr) {
        message.header.msg_controllen = 0;
    } else {
        auto *const control = CMSG_FIRSTHDR(&message.header);
        const int file = claimed->number();
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof file);
        std::memcpy(CMSG_DATA(control), &file, sizeof file);
    }
    return sendmsg(alive_.number(), &message.header, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

std::string Guard::claim(const TaskId &name, const std::string &directory) {
    if (claims_.contains(name)) {
        return {};
    }
    auto made = tune::claim(directory);
    if (!made.file) {
        return made.why;
    }
    if (!tell(name, &made.file)) {
        return "cannot be claimed: the guard does not take it";
    }
    claims_[name] = std::move(made.file);
    return {};
}

std::string Guard::claim(const TaskId &process) {
    return claim(process, proc_ + "/" + std::to_string(process.number));
}

std::string Guard::claim_interrupts() {
    return claim({}, proc_ + "/irq");
}

void Guard::keep_journal(const Descriptor &journal) {
    journal_ = Descriptor(fcntl(journal.number(), F_DUPFD_CLOEXEC, 0));
    // A guard that is not there yet, or not any more, has a successor, which has all that this has.
    tell(journal_name, &journal_);
}

void Guard::release(const std::function<bool(const TaskId &)> &which) {
    for (auto at = claims_.begin(); at != claims_.end();) {
        if (!which(at->first)) {
            ++at;
            continue;
        }
        tune::release(at->second);
        tell(at->first, nullptr);
        at = claims_.erase(at);
    }
}

} // namespace rankwise::tune
