// SPDX-License-Identifier: BSD-3-Clause
#include "judge/progress_rate.hpp"

#include <algorithm>

namespace rankwise::tune {

namespace {

struct Pair {
    const RankSample *before, *after;
};

/// The ranks of a group in both samples; empty if they are not the same, or one does not run.
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
        if (then == before.ranks.end() || rank.stopped || then->stopped)
            return {};
        found.push_back({&*then, &rank});
    }
    return found.size() == first ? found : std::vector<Pair>{};
}

std::optional<double> computed(const Pair &pair, Seconds length) {
    if (pair.before->progress && pair.after->progress)
        return 1 - (pair.after->progress->mpi - pair.before->progress->mpi) / length;
    if (!pair.before->sampled_mpi || !pair.after->sampled_mpi)
        return std::nullopt;
    double runs = 0;
    for (const ThreadSample &thread : pair.after->threads)
        runs += thread.run;
    for (const ThreadSample &thread : pair.before->threads)
        runs -= thread.run;
    return (runs - (*pair.after->sampled_mpi - *pair.before->sampled_mpi)) / length;
}

} // namespace

const char *name_of(RateOf what) {
    switch (what) {
    case RateOf::iterations:
        return "iterations";
    case RateOf::calls:
        return "calls";
    case RateOf::computation:
        break;
    }
    return "computation";
}

std::optional<RateOf> measure_for(const Sample &before, const Sample &after, const std::string &group) {
    const std::vector<Pair> ranks = pairs(before, after, group);
    if (ranks.empty())
        return std::nullopt;
    for (const RateOf what : {RateOf::iterations, RateOf::calls, RateOf::computation})
        if (rate_between(before, after, group, what))
            return what;
    return std::nullopt;
}

std::optional<double> rate_between(const Sample &before, const Sample &after, const std::string &group,
                                   RateOf what) {
    const std::vector<Pair> ranks = pairs(before, after, group);
    const Seconds length = after.at - before.at;
    if (ranks.empty() || length <= 0)
        return std::nullopt;
    double sum = 0;
    for (const Pair &pair : ranks) {
        if (what == RateOf::computation) {
            const std::optional<double> share = computed(pair, length);
            if (!share)
                return std::nullopt;
            sum += *share;
            continue;
        }
        if (!pair.before->progress || !pair.after->progress)
            return std::nullopt;
        const Progress &then = *pair.before->progress, &now = *pair.after->progress;
        if (what == RateOf::calls) {
            if (now.calls <= then.calls)
                return std::nullopt;
            sum += static_cast<double>(now.calls - then.calls) / length;
        } else {
            if (now.iterations <= then.iterations || now.anchor != then.anchor || then.iteration_end <= 0 ||
                now.iteration_end <= then.iteration_end)
                return std::nullopt;
            sum += static_cast<double>(now.iterations - then.iterations) /
                   (now.iteration_end - then.iteration_end);
        }
    }
    return sum / static_cast<double>(ranks.size());
}

std::vector<double> outside_mpi(const Sample &before, const Sample &after, const std::string &group) {
    std::vector<Pair> ranks = pairs(before, after, group);
    std::vector<double> shares;
    if (after.at <= before.at)
        return shares;
    const auto number = [](const Pair &pair) {
        return pair.after->progress ? pair.after->progress->rank : -1;
    };
    std::sort(ranks.begin(), ranks.end(), [&](const Pair &a, const Pair &b) {
        return number(a) != number(b) ? number(a) < number(b) : a.after->process < b.after->process;
    });
    for (const Pair &pair : ranks)
        shares.push_back(std::clamp(computed(pair, after.at - before.at).value_or(1), 0.0, 1.0));
    return shares;
}

} // namespace rankwise::tune
