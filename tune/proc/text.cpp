// SPDX-License-Identifier: BSD-3-Clause
#include "proc/text.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/resource.h>

namespace rankwise::tune {
namespace {

constexpr std::size_t kept_bytes = std::size_t{64} << 10U; // between two readings
constexpr std::size_t first_bytes = 4096;
constexpr rlim_t left_for_others = 128;

int most_kept = 1024 - static_cast<int>(left_for_others);

} // namespace

bool Text::read(int file, std::size_t most) {
    bytes_ = 0;
    if (memory_.empty() || memory_.size() > kept_bytes) {
        memory_ = std::vector<char>(first_bytes);
    }
    for (;;) {
        if (bytes_ == memory_.size()) {
            if (bytes_ >= most) {
                bytes_ = 0;
                break;
            }
            memory_.resize(memory_.size() * 2);
        }
        const ssize_t count =
            pread(file, memory_.data() + bytes_, memory_.size() - bytes_, static_cast<off_t>(bytes_));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        bytes_ += static_cast<std::size_t>(count);
        // Of a line as those of stat and schedstat there is no more: the second call is saved.
        if (memory_[bytes_ - 1] == '\n' && bytes_ < 1024 && bytes_ < memory_.size()) {
            break;
        }
    }
    return bytes_ > 0;
}

bool Text::read(const std::string &path, std::size_t most) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    bytes_ = 0;
    return file && read(file.number(), most);
}

bool KeptFile::read(Text &text) {
    const bool was_open = static_cast<bool>(file_);
    if (was_open && text.read(file_.number())) {
        return true;
    }
    file_.reset();
    file_ = Descriptor(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const bool done = file_ && text.read(file_.number());
    if (!done || file_.number() > most_kept) {
        file_.reset();
    }
    return done;
}

std::string control_group_file(const std::string &sys, std::string_view hierarchy, std::string_view group,
                               std::string_view name) {
    return (sys + "/fs/cgroup").append(hierarchy).append(group).append("/").append(name);
}

int allow_open_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
        const rlim_t most = std::min<rlim_t>(limit.rlim_cur, 1U << 20U);
        most_kept = static_cast<int>(most > left_for_others ? most - left_for_others : 0);
    }
    return most_kept;
}

std::string_view next_word(std::string_view &text) {
    const auto begin = std::min(text.find_first_not_of(" \t\n"), text.size());
    const auto end = std::min(text.find_first_of(" \t\n", begin), text.size());
    const auto word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    return word;
}

std::string_view next_line(std::string_view &text) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

std::optional<std::uint64_t> as_number(std::string_view word) {
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc{} || end != word.data() + word.size()) {
        return std::nullopt;
    }
    return value;
}

} // namespace rankwise::tune
