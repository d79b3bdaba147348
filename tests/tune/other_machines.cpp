// SPDX-License-Identifier: BSD-3-Clause
// System calls of other machines, in place of those of this one.
//
// move_pages(2) of one with two memories: a page is on node 1 if its number is odd, until it is moved. What
// is not on these nodes is left to the kernel. In force where $TWO_MEMORIES names a file: each batch that is
// moved is a line there, `PAGES to NODE`, or `mixed`. Where $ONLY_PAGES is a list of ranges of addresses,
// `10000000-10400000,...`, all pages outside of them do not exist. A page takes $US_PER_PAGE to move.
//
// sched_setaffinity(2) and sched_getaffinity(2) of one with 64 units, where $SIXTY_FOUR_UNITS names a
// directory: the mask of a thread is in a file there with its number as its name, 8 bytes. The threads run
// where they did. Of what is asked for the thread gets what is in the file `cpuset` there, if there is one,
// and what was asked for last is remembered as `NUMBER.asked`, as Linux does from 6.2 on. After as many masks
// as the file `locked` there says, none is set (EPERM).
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

std::map<std::uintptr_t, int> moved;

int node_of(void *page) {
    const auto number = reinterpret_cast<std::uintptr_t>(page) / 4096;
    const auto at = moved.find(number);
    return at != moved.end() ? at->second : static_cast<int>(number % 2);
}

using Ranges = std::vector<std::pair<std::uintptr_t, std::uintptr_t>>; ///< first, and behind the last

Ranges ranges_in(const char *text) {
    Ranges ranges;
    while (text && *text != 0) {
        char *end = nullptr;
        const auto first = std::strtoul(text, &end, 16), behind = std::strtoul(end + 1, &end, 16);
        ranges.emplace_back(first, behind);
        text = *end == ',' ? end + 1 : end;
    }
    return ranges;
}

bool exists(void *page) {
    // Read once: what looks at pages is timed.
    static const Ranges ranges = ranges_in(std::getenv("ONLY_PAGES"));
    const auto address = reinterpret_cast<std::uintptr_t>(page);
    for (const auto &[first, behind] : ranges)
        if (first <= address && address < behind)
            return true;
    return ranges.empty();
}

long move(const char *log, std::size_t count, void **pages, const int *nodes, int *status) {
    for (std::size_t at = 0; nodes && at < count; ++at)
        if (nodes[at] > 1) {
            errno = ENODEV;
            return -1;
        }
    for (std::size_t at = 0; at < count; ++at) {
        if (nodes)
            moved[reinterpret_cast<std::uintptr_t>(pages[at]) / 4096] = nodes[at];
        status[at] = exists(pages[at]) ? node_of(pages[at]) : -ENOENT;
    }
    if (nodes && count > 0) {
        if (const char *const us = std::getenv("US_PER_PAGE"))
            usleep(static_cast<useconds_t>(count) * static_cast<useconds_t>(std::atoi(us)));
        std::FILE *const file = std::fopen(log, "a");
        bool mixed = false;
        for (std::size_t at = 1; at < count; ++at)
            mixed |= nodes[at] != nodes[0];
        std::fprintf(file, mixed ? "%zu mixed\n" : "%zu to %d\n", count, nodes[0]);
        std::fclose(file);
    }
    return 0;
}

/// Whether no mask may be set any more.
bool is_locked(const std::string &path) {
    int left = 0;
    std::FILE *const file = std::fopen(path.c_str(), "r+");
    if (!file)
        return false;
    const bool is_read = std::fscanf(file, "%d", &left) == 1;
    std::rewind(file);
    std::fprintf(file, "%d\n", left - 1);
    std::fclose(file);
    return is_read && left <= 0;
}

void read_or_write(const std::string &path, int how, std::uint64_t &mask) {
    const int file = open(path.c_str(), how, 0600);
    if (file < 0)
        return;
    if ((how & O_WRONLY) != 0)
        pwrite(file, &mask, sizeof mask, 0);
    else
        pread(file, &mask, sizeof mask, 0);
    close(file);
}

long affinity(const std::string &masks, long number, long thread, std::size_t bytes, void *mask) {
    const bool sets = number == SYS_sched_setaffinity;
    if (sets && is_locked(masks + "/locked")) {
        errno = EPERM;
        return -1;
    }
    const int file = open((masks + "/" + std::to_string(thread)).c_str(), sets ? O_WRONLY : O_RDONLY);
    if (file < 0) {
        errno = ESRCH;
        return -1;
    }
    if (!sets) {
        std::memset(mask, 0, bytes);
        const ssize_t done = pread(file, mask, 8, 0);
        close(file);
        return done;
    }
    std::uint64_t asked = 0, cpuset = ~std::uint64_t{0};
    std::memcpy(&asked, mask, sizeof asked);
    read_or_write(masks + "/cpuset", O_RDONLY, cpuset);
    auto given = asked & cpuset;
    if (given == 0) {
        close(file);
        errno = EINVAL;
        return -1;
    }
    pwrite(file, &given, sizeof given, 0);
    close(file);
    read_or_write(masks + "/" + std::to_string(thread) + ".asked", O_WRONLY | O_CREAT, asked);
    return 0;
}

} // namespace

// Six are read, however many there are: as the C library's own does.
extern "C" __attribute__((no_sanitize("address"))) long
syscall(long number, ...) noexcept { // NOLINT(cert-dcl50-cpp): as it is declared
    va_list list;
    va_start(list, number);
    long of[6];
    for (long &each : of)
        each = va_arg(list, long);
    va_end(list);
    const char *const log = std::getenv("TWO_MEMORIES");
    if (number == SYS_move_pages && log)
        return move(log, static_cast<std::size_t>(of[1]), reinterpret_cast<void **>(of[2]),
                    reinterpret_cast<const int *>(of[3]), reinterpret_cast<int *>(of[4]));
    const char *const masks = std::getenv("SIXTY_FOUR_UNITS");
    if ((number == SYS_sched_setaffinity || number == SYS_sched_getaffinity) && masks)
        return affinity(masks, number, of[0], static_cast<std::size_t>(of[1]),
                        reinterpret_cast<void *>(of[2]));
    static auto *const next = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
    return next(number, of[0], of[1], of[2], of[3], of[4], of[5]);
}
