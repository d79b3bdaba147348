// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include <sched.h>

namespace rankwise {

/// @return how many cores this process may use
inline unsigned usable_cores() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(std::max(1, CPU_COUNT(&set)))
                                                       : 1u;
}

/// @brief `work(k)` for k below `count`, each by whichever thread is free.
/// @param[in] threads 0: as many as the process may use cores
/// @throws the first error, by k
template <class Work> void in_threads(std::size_t count, unsigned threads, const Work &work) {
    std::vector<std::exception_ptr> errors(count);
    std::atomic<std::size_t> next{0};
    const auto run = [&] {
        for (std::size_t k = next++; k < count; k = next++)
            try {
                work(k);
            } catch (...) {
                errors[k] = std::current_exception();
            }
    };
    const std::size_t helpers = std::min<std::size_t>(threads == 0 ? usable_cores() : threads, count);
    {
        std::vector<std::jthread> pool;
        for (std::size_t t = 1; t < helpers; ++t)
            pool.emplace_back(run);
        run();
    }
    for (const std::exception_ptr &error : errors)
        if (error)
            std::rethrow_exception(error);
}

} // namespace rankwise
