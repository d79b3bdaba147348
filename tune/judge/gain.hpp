// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

namespace rankwise::tune {

/// @brief What a change gained, with its interval at 95 %: part of the time that is saved, as an estimate's.
struct Gain {
    double value = 0, low = 0, high = 0;
};

/// @brief Welch's interval of the difference of two means of rates, by the first mean, as time that is saved.
///
/// Windows that follow each other are alike: variances are enlarged by (1 + r) / (1 - r), r the correlation
/// of neighbours (Zwiers & von Storch, 1995), where that is above 0. Of n windows, r comes out too low by
/// (1 + 4 r) / n (Marriott & Pope, 1954), which is added. They are worth n (1 - r) / (1 + r) that are not.
///
/// @param[in] a rates before
/// @param[in] b rates with the change
/// @param[in] again rates without it afterwards; their mean and that of `a` count alike, and what these
/// differ by is uncertainty. May be empty
/// @param[in] outside probability that the truth is below the interval, and that it is above
/// @pre two rates or more in `a` and `b`
Gain gain(std::span<const double> a, std::span<const double> b, std::span<const double> again,
          double outside = 0.025);

/// @brief Standard deviation by mean; 0 for fewer than two.
double scatter(std::span<const double> rates);

} // namespace rankwise::tune
