// SPDX-License-Identifier: BSD-3-Clause
#include "judge/progress_rate.hpp"

#include <algorithm>
#include <utility>

namespace rankwise::tune {

namespace {

struct Pair {
    TaskId process;
    const Progress *before, *after; ///< none without a page

    bool has_page() const { return before && after; }
    std::int32_t rank() const { return has_page() ? after->rank : -1; }
};

const Progress *page_of(const RankSample &rank) {
    return rank.progress ? &*rank.progress : nullptr;
}

/// The ranks of a group in both samples, in order of ranks; empty if they are not the same.
std::vector<Pair> pairs(const Sample &before, const Sample &after, const std::string &group) {
    std::vector<Pair> found;
    std::size_t first = 0;
    for (const RankSample &rank : before.ranks)
        first += rank.group == group;
    for (const RankSample &rank : after.ranks) {
        if (rank.group != group)
            continue;
        // Most often it is at the same place.
        const auto at = static_cast<std::size_t>(&rank - after.ranks.data());
        const bool is_there = at < before.ranks.size() && before.ranks[at].process == rank.process;
        const auto then =
            is_there ? before.ranks.begin() + static_cast<std::ptrdiff_t>(at)
                     : std::find_if(before.ranks.begin(), before.ranks.end(),
                                    [&](const RankSample &each) { return each.process == rank.process; });
        if (then == before.ranks.end())
            return {};
        found.push_back({rank.process, page_of(*then), page_of(rank)});
    }
    if (found.size() != first)
        return {};
    std::sort(found.begin(), found.end(), [](const Pair &a, const Pair &b) {
        return std::pair(a.rank(), a.process) < std::pair(b.rank(), b.process);
    });
    return found;
}

} // namespace

const char *name_of(RateOf what) {
    return what == RateOf::iterations ? "iterations" : "calls";
}

std::optional<RateOf> measure_of(const Sample &sample, const std::string &group, const Silent &without) {
    std::optional<RateOf> found;
    for (const RankSample &rank : sample.ranks) {
        if (rank.group != group || without.contains(rank.process))
            continue;
        if (!rank.progress)
            return std::nullopt;
        if (rank.progress->iterations == 0)
            found = RateOf::calls;
        found = found.value_or(RateOf::iterations);
    }
    return found;
}

Advance advance_between(const Sample &before, const Sample &after, const std::string &group, RateOf what,
                        const Silent &without) {
    const std::vector<Pair> ranks = pairs(before, after, group);
    const Seconds length = after.at - before.at;
    if (length <= 0 || std::any_of(ranks.begin(), ranks.end(),
                                   [](const Pair &each) { return each.has_page() && each.after->ended; }))
        return {};
    Advance advance{Advance::told, 0, UINT64_MAX};
    double sum = 0;
    int counted = 0;
    for (const Pair &pair : ranks) {
        if (without.contains(pair.process))
            continue;
        if (!pair.has_page())
            return {};
        ++counted;
        const Progress *const then = pair.before, *const now = pair.after;
        const bool iterations = what == RateOf::iterations;
        const std::uint64_t first = iterations ? then->iterations : then->calls,
                            last = iterations ? now->iterations : now->calls;
        if (last < first || (iterations && now->anchor != then->anchor))
            return {Advance::anew};
        if (last == first || (iterations && now->iteration_end <= then->iteration_end)) {
            advance.what = Advance::waits;
            continue;
        }
        const Seconds took = iterations ? now->iteration_end - then->iteration_end : length;
        advance.least = std::min(advance.least, last - first);
        sum += static_cast<double>(last - first) / took;
    }
    if (counted == 0)
        return {};
    advance.rate = sum / counted;
    return advance.what == Advance::told ? advance : Advance{Advance::waits};
}

Seconds last_ends(const Sample &sample, const std::string &group, const Silent &without) {
    std::optional<Seconds> earliest;
    for (const RankSample &rank : sample.ranks)
        if (rank.group == group && rank.progress && !without.contains(rank.process))
            earliest =
                std::min(earliest.value_or(rank.progress->iteration_end), rank.progress->iteration_end);
    return earliest.value_or(0);
}

Silent silent_between(const Sample &before, const Sample &after, const std::string &group,
                      const Silent &without) {
    Silent silent;
    bool any = false;
    for (const Pair &pair : pairs(before, after, group)) {
        if (without.contains(pair.process) || !pair.has_page())
            continue;
        if (pair.after->calls == pair.before->calls)
            silent.insert(pair.process);
        else
            any = true;
    }
    return any ? silent : Silent{};
}

std::vector<double> outside_mpi(const Sample &before, const Sample &after, const std::string &group) {
    std::vector<double> shares;
    if (after.at > before.at)
        for (const Pair &pair : pairs(before, after, group))
            shares.push_back(
                pair.has_page()
                    ? std::clamp(1 - (pair.after->mpi - pair.before->mpi) / (after.at - before.at), 0.0, 1.0)
                    : 0);
    return shares;
}

} // namespace rankwise::tune
