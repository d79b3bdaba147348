// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "proc/descriptor.hpp"
#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief What a range of a process' code is part of.
struct CodeRange {
    enum Kind { mpi, shared, other }; ///< shared: the C library, which MPI and the program both call
    std::uint64_t begin, end;
    Kind kind;
};

/// @return executable ranges of a text of /proc/PID/maps, in order of addresses
std::vector<CodeRange> parse_code_ranges(std::string_view maps);

/// @brief Seconds inside MPI of a process without a page: samples of the main thread's instruction pointer,
/// 99 for each second that it runs. Samples in shared code, and time in the kernel, are dealt out as the
/// others are.
class MpiShare {
  public:
    /// @return none where perf_event_open is not permitted
    static std::optional<MpiShare> open(std::int32_t process);

    /// @param[in] run seconds that the main thread has run
    /// @return of these since it was opened, seconds inside MPI
    Seconds read(Text &text, Seconds run);

    MpiShare(MpiShare &&other) noexcept;
    MpiShare &operator=(MpiShare &&other) noexcept;
    MpiShare(const MpiShare &) = delete;
    MpiShare &operator=(const MpiShare &) = delete;
    ~MpiShare();

  private:
    MpiShare(std::int32_t process, Descriptor event, void *ring);
    const CodeRange *range_of(std::uint64_t address) const;

    std::int32_t process_;
    Descriptor event_;
    void *ring_;
    std::vector<CodeRange> ranges_;
    Seconds run_ = -1, mpi_ = 0;
    double share_ = 0;
};

} // namespace rankwise::tune
