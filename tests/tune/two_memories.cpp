// SPDX-License-Identifier: BSD-3-Clause
// move_pages(2) of a machine with two memories, in place of that of this one: a page is on node 1 if its
// number is odd, until it is moved. What is not on these nodes is left to the kernel. In force where
// $TWO_MEMORIES names a file: each batch that is moved is a line there, `PAGES to NODE`, or `mixed`.
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <sys/syscall.h>

namespace {

std::map<std::uintptr_t, int> moved;

int node_of(void *page) {
    const auto number = reinterpret_cast<std::uintptr_t>(page) / 4096;
    const auto at = moved.find(number);
    return at != moved.end() ? at->second : static_cast<int>(number % 2);
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
        status[at] = node_of(pages[at]);
    }
    if (nodes && count > 0) {
        std::FILE *const file = std::fopen(log, "a");
        bool mixed = false;
        for (std::size_t at = 1; at < count; ++at)
            mixed |= nodes[at] != nodes[0];
        std::fprintf(file, mixed ? "%zu mixed\n" : "%zu to %d\n", count, nodes[0]);
        std::fclose(file);
    }
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
    static auto *const next = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
    return next(number, of[0], of[1], of[2], of[3], of[4], of[5]);
}
