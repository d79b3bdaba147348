// SPDX-License-Identifier: BSD-3-Clause
#include "act/claim.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

bool is_of_file(std::string_view place, const struct stat &status) { // `fe:00:9977902`
    std::uint64_t major_number = 0, minor_number = 0;
    const auto take = [&](std::uint64_t &number) {
        const auto end = std::from_chars(place.data(), place.data() + place.size(), number, 16).ptr;
        place.remove_prefix(static_cast<std::size_t>(end - place.data()));
        const bool more = place.starts_with(':');
        place.remove_prefix(more ? 1 : 0);
        return more;
    };
    return take(major_number) && take(minor_number) && as_number(place) == status.st_ino &&
           major_number == major(status.st_dev) && minor_number == minor(status.st_dev);
}

/// Who has locked a process' directory. Anybody may, but only its own user and root can tune it.
std::string holder_text(int directory) {
    struct stat of_process{}, of_holder{};
    const auto holder = lock_holder(directory);
    if (holder <= 0) {
        return "is tuned by another tuner already";
    }
    const auto name = "process `" + std::to_string(holder) + "`";
    const bool known = fstat(directory, &of_process) == 0 &&
                       stat(("/proc/" + std::to_string(holder)).c_str(), &of_holder) == 0;
    if (known && of_holder.st_uid != 0 && of_holder.st_uid != of_process.st_uid) {
        return "is locked by " + name + " of user " + std::to_string(of_holder.st_uid) +
               ", which cannot tune it: it is to be ended first";
    }
    return "is tuned by " + name + " already";
}

} // namespace

Claim claim(const std::string &directory) {
    Claim made;
    made.file = Descriptor(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (made.file && flock(made.file.number(), LOCK_EX | LOCK_NB) == 0) {
        return made;
    }
    made.why = std::string("cannot be claimed: ") + std::strerror(errno);
    if (made.file && errno == EWOULDBLOCK) {
        made.why = holder_text(made.file.number());
    }
    made.file.reset();
    return made;
}

void release(const Descriptor &claimed) {
    flock(claimed.number(), LOCK_UN);
}

std::int32_t lock_holder(int file) {
    struct stat status{};
    Text text;
    if (fstat(file, &status) != 0 || !text.read("/proc/locks")) {
        return 0;
    }
    for (auto rest = text.view(); !rest.empty();) { // `1: FLOCK ADVISORY WRITE 1295 fe:00:9977902 0 EOF`
        auto line = next_line(rest);
        next_word(line);
        const bool is_flock = next_word(line) == "FLOCK"; // `->` is of one that waits
        next_word(line);
        next_word(line);
        const auto process = as_number(next_word(line));
        if (is_flock && process && *process <= INT32_MAX && is_of_file(next_word(line), status)) {
            return static_cast<std::int32_t>(*process);
        }
    }
    return 0;
}

} // namespace rankwise::tune
