// SPDX-License-Identifier: BSD-3-Clause
#include "candidates.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "decide/interrupts.hpp"
#include "decide/pages.hpp"
#include "judge/trial.hpp"

namespace rankwise::tune {
namespace {

// What a rank loses by a move, its caches: 2 MB at 2 GB/s. Assumed.
constexpr Seconds move_costs = 1e-3;
// A change that is carried out, taken back and carried out again is to be worth it in this time.
constexpr Seconds worth_within = 10;

double cost(const Change &change) {
    return Trial::most_changes * static_cast<double>(change.moves.size()) * move_costs / worth_within;
}

bool is_worth_it(const Proposal &proposal, double worth) {
    return proposal.gain >= worth + cost(proposal.change);
}

} // namespace

Candidates find_candidates(const Observation &observation, const Scope &scope,
                           const std::optional<FreeInterrupts> &interrupts) {
    Candidates found;
    std::vector<Proposal> &proposals = found.worthwhile;
    const auto &[node, allowed, worth, goes_on, impossible] = scope;
    if (interrupts)
        proposals = decide_interrupts(observation, node, allowed, interrupts->units, interrupts->fixed);
    if (std::optional<Proposal> pages = decide_pages(observation, node, allowed, goes_on))
        proposals.push_back(std::move(*pages));
    if (std::optional<Proposal> spread = decide_spread(observation, node, allowed, worth, goes_on))
        proposals.push_back(std::move(*spread));
    // Where both save as much, the interrupt goes: that costs no rank its caches.
    Decision decision = decide(observation, node, allowed, worth, impossible);
    found.refused = std::move(decision.refused);
    if (decision.proposal)
        proposals.push_back(std::move(*decision.proposal));
    found.has_others = std::erase_if(proposals, [&, worth = worth](const Proposal &each) {
                           return !is_worth_it(each, worth);
                       }) > 0;
    std::ranges::stable_sort(proposals, std::ranges::greater{}, &Proposal::gain);
    return found;
}

std::optional<Proposal> seen_anew(Observation observation, const Scope &scope, Proposal proposal,
                                  const std::function<NumaPages(const TaskId &)> &pages_by_numa) {
    const auto &[node, allowed, worth, goes_on, impossible] = scope;
    std::set<TaskId> seen;
    for (;;) {
        bool any_new = false;
        for (const Change::Pages &pages : proposal.change.pages)
            for (RankLoad &rank : observation.ranks)
                if (rank.process == pages.process && seen.insert(rank.process).second) {
                    rank.set_pages(pages_by_numa(rank.process));
                    any_new = true;
                }
        if (!any_new)
            return proposal;
        std::optional<Proposal> again = proposal.change.moves.empty()
                                            ? decide_pages(observation, node, allowed, goes_on)
                                            : decide_spread(observation, node, allowed, worth, goes_on);
        if (!again || !is_worth_it(*again, worth))
            return std::nullopt;
        proposal = std::move(*again);
    }
}

} // namespace rankwise::tune
