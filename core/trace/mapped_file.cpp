// SPDX-License-Identifier: BSD-3-Clause
#include "trace/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "error.hpp"

namespace rankwise::trace {
namespace {

[[noreturn]] void fail(const std::string &path, int reason) {
    throw Error("cannot read `" + path + "`: " + std::strerror(reason), "check it with `ls -l " + path + "`");
}

/// A rank that found no room leaves a hole. On a full tmpfs to look at it where it is mapped is a bus error,
/// to read it is not. Larger files than that are no recordings on a tmpfs, or they take too long to read.
constexpr off_t most_read = off_t{1} << 30U;

bool has_hole(int file, off_t size) {
    const off_t hole = size <= most_read ? lseek(file, 0, SEEK_HOLE) : size;
    return hole >= 0 && hole < size;
}

/// The content in memory of its own; what ends early is zeros. @return MAP_FAILED without memory
void *read_whole(int file, std::size_t size) {
    void *const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (std::size_t done = 0; memory != MAP_FAILED && done < size;) {
        const ssize_t count =
            pread(file, static_cast<std::byte *>(memory) + done, size - done, static_cast<off_t>(done));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        done += static_cast<std::size_t>(count);
    }
    return memory;
}

} // namespace

MappedFile::MappedFile(const std::string &path) {
    // Without O_NONBLOCK a pipe that nobody writes to would be waited for.
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        fail(path, errno);
    }
    struct stat status{};
    int reason = fstat(file, &status) == 0 ? 0 : errno;
    if (reason == 0 && !S_ISREG(status.st_mode)) {
        close(file);
        throw Error("cannot read `" + path + "`: it is a " +
                        (S_ISDIR(status.st_mode) ? "directory" : "pipe or a device") + ", not a file",
                    "check it with `ls -l " + path + "`");
    }
    if (reason == 0 && status.st_size > 0) {
        const auto size = static_cast<std::size_t>(status.st_size);
        void *const address = has_hole(file, status.st_size)
                                  ? read_whole(file, size)
                                  : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
        if (address == MAP_FAILED) {
            reason = errno;
        } else {
            data_ = static_cast<const std::byte *>(address);
            size_ = size;
        }
    }
    close(file);
    if (reason != 0) {
        fail(path, reason);
    }
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
    if (data_ != nullptr) {
        munmap(const_cast<std::byte *>(data_), size_); // NOLINT: munmap takes no const
    }
}

} // namespace rankwise::trace
