// SPDX-License-Identifier: BSD-3-Clause
#include "proc/open_beneath.hpp"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

namespace rankwise::tune {

Descriptor open_beneath(int directory, const char *name, int flags) {
    flags |= O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
    const auto file = syscall(SYS_openat2, directory, name, &how, sizeof how);
    // Before Linux 5.6, or where a filter of system calls does not know it.
    const bool is_unknown = file < 0 && (errno == ENOSYS || errno == EPERM);
    return Descriptor(is_unknown ? openat(directory, name, flags) : static_cast<int>(file));
}

} // namespace rankwise::tune
