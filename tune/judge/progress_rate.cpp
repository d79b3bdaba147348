// SPDX-License-Identifier: BSD-3-Clause
#include "judge/progress_rate.hpp"

#include <algorithm>

namespace rankwise::tune {

namespace {

struct Pair {
    const Progress *before, *after;
};

/// The ranks of a group in both samples, in order of ranks; empty if they are not the same, or one has no
/// page.
std::vector<Pair> pairs(const Sample &before, const Sample &after, const std::string &group) {
    std::vector<Pair> found;
    std::size_t first = 0;
    for (const RankSample &rank : before.ranks)
        first += rank.group == group;
    for (const RankSample &rank : after.ranks) {
        if (rank.group != group)
            continue;
        const auto then = std::find_if(before.ranks.begin(), before.ranks.end(),
                                       [&](const RankSample &each) { return each.process == rank.process; });
        if (then == before.ranks.end() || !rank.progress || !then->progress)
            return {};
        found.push_back({&*then->progress, &*rank.progress});
    }
    if (found.size() != first)
        return {};
    std::sort(found.begin(), found.end(),
              [](const Pair &a, const Pair &b) { return a.after->rank < b.after->rank; });
    return found;
}

} // namespace

const char *name_of(RateOf what) {
    return what == RateOf::iterations ? "iterations" : "calls";
}

std::optional<RateOf> measure_of(const Sample &sample, const std::string &group) {
    std::optional<RateOf> found;
    for (const RankSample &rank : sample.ranks) {
        if (rank.group != group)
            continue;
        if (!rank.progress)
            return std::nullopt;
        if (rank.progress->iterations == 0)
            found = RateOf::calls;
        found = found.value_or(RateOf::iterations);
    }
    return found;
}

Advance advance_between(const Sample &before, const Sample &after, const std::string &group, RateOf what) {
    const std::vector<Pair> ranks = pairs(before, after, group);
    const Seconds length = after.at - before.at;
    if (ranks.empty() || length <= 0)
        return {};
    Advance advance{Advance::told, 0, UINT64_MAX};
    for (const auto &[then, now] : ranks) {
        const bool iterations = what == RateOf::iterations;
        const std::uint64_t first = iterations ? then->iterations : then->calls,
                            last = iterations ? now->iterations : now->calls;
        if (now->ended)
            return {};
        if (last < first || (iterations && now->anchor != then->anchor))
            return {Advance::anew};
        if (last == first || (iterations && now->iteration_end <= then->iteration_end)) {
            advance.what = Advance::waits;
            continue;
        }
        const Seconds took = iterations ? now->iteration_end - then->iteration_end : length;
        advance.least = std::min(advance.least, last - first);
        advance.rate += static_cast<double>(last - first) / took / static_cast<double>(ranks.size());
    }
    return advance.what == Advance::told ? advance : Advance{Advance::waits};
}

Seconds last_ends(const Sample &sample, const std::string &group) {
    std::optional<Seconds> earliest;
    for (const RankSample &rank : sample.ranks)
        if (rank.group == group && rank.progress)
            earliest =
                std::min(earliest.value_or(rank.progress->iteration_end), rank.progress->iteration_end);
    return earliest.value_or(0);
}

std::vector<double> outside_mpi(const Sample &before, const Sample &after, const std::string &group) {
    std::vector<double> shares;
    if (after.at > before.at)
        for (const auto &[then, now] : pairs(before, after, group))
            shares.push_back(std::clamp(1 - (now->mpi - then->mpi) / (after.at - before.at), 0.0, 1.0));
    return shares;
}

} // namespace rankwise::tune
