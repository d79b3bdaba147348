// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proc/descriptor.hpp"

namespace rankwise::tune {

/// @brief Texts of /proc and /sys, one after another in the same memory.
class Text {
  public:
    /// Of files that a user can make as long as he likes, as /proc/PID/maps.
    static constexpr std::size_t most_of_users = std::size_t{4} << 20U;

    /// @brief Read an open file from its beginning.
    /// @param[in] most bytes
    /// @return false if it has no text, as that of a thread that ended, or more than that
    bool read(int file, std::size_t most = std::size_t{64} << 20U);

    /// @brief Read a file that is opened for this only.
    bool read(const std::string &path, std::size_t most = std::size_t{64} << 20U);

    /// @return what was read last; valid until the next is
    std::string_view view() const { return {memory_.data(), bytes_}; }

  private:
    std::vector<char> memory_;
    std::size_t bytes_ = 0;
};

/// @brief A file that is read again and again, and kept open while there are descriptors for it.
class KeptFile {
  public:
    KeptFile() = default;
    explicit KeptFile(std::string path) : path_(std::move(path)) {}

    /// @return false if there is none, or no text in it; opened anew then, as its name may be another one's
    /// now
    bool read(Text &text);

  private:
    std::string path_;
    Descriptor file_;
};

/// @param[in] hierarchy of version 1, as `/cpuset`; empty of version 2
/// @param[in] group     as /proc/PID/cgroup has it
std::string control_group_file(const std::string &sys, std::string_view hierarchy, std::string_view group,
                               std::string_view name);

/// @brief Raise the limit of open files as far as may be.
/// @return the highest descriptor that may be kept open, so that some are left for others
int allow_open_files();

/// @brief Cut the next word off: what is before the next space, tab or newline.
/// @return empty at the end of the text
std::string_view next_word(std::string_view &text);

/// @brief Cut the next line off, without its newline.
std::string_view next_line(std::string_view &text);

/// @return the number that the whole word is, or none
std::optional<std::uint64_t> as_number(std::string_view word);

} // namespace rankwise::tune
