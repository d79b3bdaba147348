// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "types.hpp"

namespace rankwise::tune {

/// @brief When to look at what is costly again: so seldom that it takes less than a part of the time, and not
/// before a pause.
class Seldom {
  public:
    explicit Seldom(Seconds pause, double most_share = 2e-4) : pause_(pause), most_share_(most_share) {}

    bool due(Seconds now) const { return now >= due_; }
    Seconds next() const { return due_; }
    void done(Seconds began, Seconds ended) {
        due_ = ended + std::max(pause_, (ended - began) / most_share_);
    }

  private:
    Seconds pause_;
    double most_share_;
    Seconds due_ = 0;
};

} // namespace rankwise::tune
