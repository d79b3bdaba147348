// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string>

#include "proc/descriptor.hpp"
#include "tune_page.h"
#include "types.hpp"

namespace rankwise::tune {

/// @brief What a page says of itself, once it is prepared.
struct PageOwner {
    TaskId process;
    std::int32_t rank, ranks;
};

/// @brief Check a page's fixed part.
/// @return none if it is not prepared, of another version, or makes no sense
std::optional<PageOwner> owner_of(const rw_tune_page &page);

/// @brief Ticks of this moment in both clocks.
struct TickMoment {
    std::uint64_t ticks;
    Seconds at;
};
TickMoment tick_moment();

/// @brief Make seconds of a page's ticks.
/// @param[in] peers whether they are wanted
Progress progress_of(const rw_tune_page &page, const TickMoment &moment, bool peers);

/// @brief A rank's page, read with pread: one that is cut short while it is mapped would end the tuner.
class RankPage {
  public:
    /// @brief Open a page that belongs to the same user as its process and its directory do.
    /// @param[in] proc root of the tree, `/proc`
    /// @param[in] user whose directory it is
    /// @param[in] users whose pages are taken; empty: everybody's
    /// @return none if it is not one, or not yet
    static std::optional<RankPage> open(int directory, const std::string &name, const std::string &proc,
                                        std::uint32_t user, const std::vector<std::uint32_t> &users);

    const PageOwner &owner() const { return owner_; }
    std::uint32_t user() const { return user_; }

    /// @brief What it says now. Times never go back, though a call may end while it is read.
    /// @return none if it was cut short, or is another's now
    std::optional<Progress> read(bool peers);

  private:
    RankPage(Descriptor file, const PageOwner &owner, std::uint32_t user)
        : file_(std::move(file)), owner_(owner), user_(user) {}

    Descriptor file_;
    PageOwner owner_;
    std::uint32_t user_;
    Seconds mpi_ = 0, wait_ = 0;
};

} // namespace rankwise::tune
