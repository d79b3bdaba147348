// SPDX-License-Identifier: BSD-3-Clause
#include "judge/seen_masks.hpp"

#include <algorithm>

namespace rankwise::tune {

SeenMasks::SeenMasks(const Sample &sample, const std::string &group) {
    for (const RankSample &rank : sample.ranks)
        if (rank.group == group)
            for (const ThreadSample &thread : rank.threads)
                threads_[rank.process][thread.id] = thread.mask;
}

std::string SeenMasks::changed_in(const Sample &later) const {
    for (const RankSample &rank : later.ranks) {
        const auto known = threads_.find(rank.process);
        if (known == threads_.end())
            continue;
        const auto is_as_seen = [&](const ThreadSample &thread) {
            const auto seen = known->second.find(thread.id);
            return seen != known->second.end() ? seen->second == thread.mask
                                               : std::ranges::any_of(known->second, [&](const auto &each) {
                                                     return each.second == thread.mask;
                                                 });
        };
        if (!std::ranges::all_of(rank.threads, is_as_seen))
            return "the mask of " +
                   (rank.progress ? "rank " + std::to_string(rank.progress->rank)
                                  : "process " + std::to_string(rank.process.number)) +
                   " was changed from outside meanwhile";
    }
    return {};
}

} // namespace rankwise::tune
