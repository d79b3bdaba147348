// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>

namespace rankwise::placement {

/// @brief The sum of load^p to the power of 1/p, p = 8: close to the largest load, but every step down is
/// felt.
class LoadNorm {
  public:
    /// @param[in] mean of the loads, about: keeps load^p within range
    explicit LoadNorm(double mean = 0) : scale_(mean > 0 ? 1 / mean : 1) {}

    double value(double change = 0) const noexcept {
        return std::pow(std::max(sum_ + change, 0.0), 1.0 / 8.0) / scale_;
    }

    /// @return what the sum of powers changes by if one load does
    double change(double before, double after) const noexcept {
        return power(after * scale_) - power(before * scale_);
    }

    void apply(double change) noexcept { sum_ += change; }

  private:
    static double power(double load) noexcept {
        const double square = load * load;
        const double fourth = square * square;
        return fourth * fourth;
    }

    double scale_;
    double sum_ = 0;
};

} // namespace rankwise::placement
