// SPDX-License-Identifier: BSD-3-Clause
#include "act/state_lock.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/claim.hpp"
#include "proc/text.hpp"
#include "refused.hpp"

namespace rankwise::tune {
namespace {

constexpr int waits = 1000;    // for the guard of a tuner that was killed
constexpr int first_waits = 5; // for who looks whether it is locked
constexpr useconds_t wait_us = 10'000;

bool runs(std::int32_t process) {
    return process > 0 && (kill(process, 0) == 0 || errno == EPERM);
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

/// For whoever does not find it in /proc/locks, which has another device than stat(2) on some file systems.
void write_holder(int file) {
    const auto number = std::to_string(getpid());
    static_cast<void>(ftruncate(file, 0) == 0 && pwrite(file, number.data(), number.size(), 0) > 0);
}

std::int32_t holder_of(int file) {
    const auto found = lock_holder(file);
    Text text;
    if (found > 0 || !text.read(file, 64)) {
        return found;
    }
    const auto number = as_number(text.view());
    return number && *number <= INT32_MAX ? static_cast<std::int32_t>(*number) : 0;
}

Descriptor open_lock(const std::string &path) {
    return Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

bool is_ours_or_roots(const struct stat &status) {
    return status.st_uid == geteuid() || status.st_uid == 0;
}

/// Whether others can neither put another directory in the place of one that is made in it, nor lead
/// elsewhere.
bool is_safe_parent(const std::string &parent) {
    struct stat named{}, found{};
    return lstat(parent.c_str(), &named) == 0 && stat(parent.c_str(), &found) == 0 &&
           is_ours_or_roots(named) && is_ours_or_roots(found) && S_ISDIR(found.st_mode) &&
           ((found.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (found.st_mode & S_ISVTX) != 0);
}

} // namespace

bool is_still_at(int file, const std::string &path) {
    struct stat opened{}, found{};
    return fstat(file, &opened) == 0 && lstat(path.c_str(), &found) == 0 && opened.st_dev == found.st_dev &&
           opened.st_ino == found.st_ino;
}

Descriptor lock_state(const std::string &state) {
    const auto path = state + "/lock";
    Descriptor file;
    for (int i = 0;; ++i) {
        make_directory(state);
        file = open_lock(path);
        if (!file && errno != ENOENT) {
            throw Error("cannot open `" + path + "`: " + std::strerror(errno));
        }
        if (file && flock(file.number(), LOCK_EX | LOCK_NB) == 0) {
            if (is_still_at(file.number(), path)) {
                write_holder(file.number());
                return file;
            }
            continue; // who had it has removed the directory
        }
        const auto other = file ? holder_of(file.number()) : 0;
        const bool is_alive = runs(other);
        if (i >= waits || (i >= first_waits && is_alive)) {
            const auto said =
                (other > 0 ? "process `" + std::to_string(other) + "`" : std::string("another tuner")) +
                " tunes on this node already";
            const auto *const way_out = "`rankwise tune stop` ends it";
            if (is_alive) {
                throw Refused(said, way_out);
            }
            throw Error(said, way_out);
        }
        usleep(wait_us);
    }
}

bool StateDirectory::make_again() {
    // Its user's directory of tuners has gone with it: that of all users is not made.
    const auto parent = std::filesystem::path(path_).parent_path().string();
    mkdir(parent.c_str(), 0700);
    if (!is_safe_parent(parent)) {
        return false;
    }
    try {
        make_directory(path_);
    } catch (const Error &) {
        return false;
    }
    auto lock = open_lock(path_ + "/lock");
    if (!lock || flock(lock.number(), LOCK_EX | LOCK_NB) != 0 ||
        !is_still_at(lock.number(), path_ + "/lock")) {
        return false;
    }
    write_holder(lock.number());
    lock_ = std::move(lock);
    return true;
}

} // namespace rankwise::tune
