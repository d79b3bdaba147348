// SPDX-License-Identifier: BSD-3-Clause
#include "judge/gain.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rankwise::tune {

namespace {

struct Mean {
    double value = 0;
    double variance = 0; ///< of the mean
    double freedom = 1;
};

Mean mean_of(std::span<const double> rates) {
    Mean mean;
    const auto count = static_cast<double>(rates.size());
    for (const double rate : rates)
        mean.value += rate / count;
    if (rates.size() < 2)
        return mean;
    double squares = 0, neighbours = 0;
    for (std::size_t at = 0; at < rates.size(); ++at) {
        const double off = rates[at] - mean.value;
        squares += off * off;
        if (at + 1 < rates.size())
            neighbours += off * (rates[at + 1] - mean.value);
    }
    double correlation = squares > 0 ? neighbours / squares : 0;
    correlation = std::clamp(correlation + (1 + 4 * correlation) / count, 0.0, 0.8);
    mean.variance = squares / (count - 1) / count * (1 + correlation) / (1 - correlation);
    mean.freedom = std::max(count * (1 - correlation) / (1 + correlation) - 1, 1.0);
    return mean;
}

constexpr double few_degrees = 30;

/// Probability that Student's t is above `t`: with t = sqrt(v) tan(angle) it is the part of the integral of
/// cos^(v - 1) that is behind the angle, by Simpson's rule.
double probability_above(double t, double freedom) {
    constexpr int pieces = 200; // even
    const double first = std::atan(t / std::sqrt(freedom));
    const double width = (std::numbers::pi / 2 - first) / pieces;
    double sum = 0;
    for (int at = 0; at <= pieces; ++at) {
        const double weight = at == 0 || at == pieces ? 1 : at % 2 == 1 ? 4 : 2;
        sum += weight * std::pow(std::max(std::cos(first + at * width), 0.0), freedom - 1);
    }
    const double whole =
        std::sqrt(std::numbers::pi) * std::exp(std::lgamma(freedom / 2) - std::lgamma((freedom + 1) / 2));
    return sum * width / 3 / whole;
}

/// What Student's t exceeds with a probability: for many degrees of freedom the Cornish-Fisher expansion of
/// what the normal distribution does (Abramowitz & Stegun, 26.7.5 and 26.2.23), for few, where it is too
/// small, by bisection.
double quantile(double outside, double freedom) {
    freedom = std::max(freedom, 1.0);
    if (freedom < few_degrees) {
        double low = 0, high = 2 / std::tan(std::numbers::pi * outside); // twice that of one degree
        while (high - low > 1e-6 * high) {
            const double middle = (low + high) / 2;
            (probability_above(middle, freedom) > outside ? low : high) = middle;
        }
        return high;
    }
    const double u = std::sqrt(-2 * std::log(outside));
    const double z =
        u - (2.515517 + u * (0.802853 + u * 0.010328)) / (1 + u * (1.432788 + u * (0.189269 + u * 0.001308)));
    const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    const double v = freedom;
    return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

/// Part of the time that a rate saves that is higher by a part of itself.
double saved(double faster) {
    return faster > -0.99 ? faster / (1 + faster) : -99;
}

} // namespace

double scatter(std::span<const double> rates) {
    if (rates.size() < 2)
        return 0;
    const auto count = static_cast<double>(rates.size());
    double mean = 0, squares = 0;
    for (const double rate : rates)
        mean += rate / count;
    for (const double rate : rates)
        squares += (rate - mean) * (rate - mean);
    return mean > 0 ? std::sqrt(squares / (count - 1)) / mean : 0;
}

Gain gain(std::span<const double> a, std::span<const double> b, std::span<const double> again,
          double outside) {
    const Mean before = mean_of(a), changed = mean_of(b);
    Mean without = before;
    double drift = 0;
    if (!again.empty()) {
        const Mean after = mean_of(again);
        without.value = (before.value + after.value) / 2;
        without.variance = (before.variance + after.variance) / 4;
        without.freedom = before.freedom + after.freedom;
        // A straight drift cancels in the mean of both; what it may leave over is a part of their difference.
        const double half = (before.value - after.value) / 2;
        drift = half * half / 3;
    }
    const double variance = changed.variance + without.variance + drift;
    const double fourth = changed.variance * changed.variance / changed.freedom +
                          without.variance * without.variance / without.freedom + drift * drift;
    const double freedom = fourth > 0 ? variance * variance / fourth : changed.freedom + without.freedom;
    const double difference = changed.value - without.value,
                 width = quantile(outside, freedom) * std::sqrt(variance);
    if (without.value <= 0)
        return {};
    return {saved(difference / without.value), saved((difference - width) / without.value),
            saved((difference + width) / without.value)};
}

} // namespace rankwise::tune
