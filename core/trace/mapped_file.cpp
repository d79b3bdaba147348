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
        void *const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
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
