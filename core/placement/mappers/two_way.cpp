// SPDX-License-Identifier: BSD-3-Clause
#include "placement/mappers/two_way.hpp"

#include <algorithm>
#include <array>

namespace rankwise::placement {
namespace {

// Vertices by gain, the largest on top; equal gains by number, so that results do not depend on history.
class GainHeap {
  public:
    GainHeap(std::vector<std::int32_t> &place, const std::vector<Weight> &gain)
        : place_(place), gain_(gain) {}

    bool empty() const noexcept { return heap_.empty(); }
    Rank top() const noexcept { return heap_.front(); }

    void push(Rank v) {
        place_[v] = static_cast<std::int32_t>(heap_.size());
        heap_.push_back(v);
        up(heap_.size() - 1);
    }

    void remove(Rank v) {
        const auto at = static_cast<std::size_t>(place_[v]);
        place_[v] = -1;
        const Rank last = heap_.back();
        heap_.pop_back();
        if (last == v)
            return;
        heap_[at] = last;
        place_[last] = static_cast<std::int32_t>(at);
        changed(last);
    }

    void changed(Rank v) {
        const auto at = static_cast<std::size_t>(place_[v]);
        if (!up(at))
            down(at);
    }

    void clear() {
        for (const Rank v : heap_)
            place_[v] = -1;
        heap_.clear();
    }

  private:
    bool before(Rank a, Rank b) const noexcept { return gain_[a] != gain_[b] ? gain_[a] > gain_[b] : a < b; }

    bool up(std::size_t at) {
        const Rank v = heap_[at];
        const auto start = at;
        while (at > 0 && before(v, heap_[(at - 1) / 2])) {
            heap_[at] = heap_[(at - 1) / 2];
            place_[heap_[at]] = static_cast<std::int32_t>(at);
            at = (at - 1) / 2;
        }
        heap_[at] = v;
        place_[v] = static_cast<std::int32_t>(at);
        return at != start;
    }

    void down(std::size_t at) {
        const Rank v = heap_[at];
        while (2 * at + 1 < heap_.size()) {
            auto child = 2 * at + 1;
            if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child]))
                ++child;
            if (!before(heap_[child], v))
                break;
            heap_[at] = heap_[child];
            place_[heap_[at]] = static_cast<std::int32_t>(at);
            at = child;
        }
        heap_[at] = v;
        place_[v] = static_cast<std::int32_t>(at);
    }

    std::vector<Rank> heap_;
    std::vector<std::int32_t> &place_;
    const std::vector<Weight> &gain_;
};

class Pass {
  public:
    Pass(const Graph &graph, Cut &cut, const Balance &balance)
        : graph_(graph), cut_(cut), balance_(balance), gain_(cut.side.size()), place_(cut.side.size(), -1),
          heap_{GainHeap(place_, gain_), GainHeap(place_, gain_)}, done_(cut.side.size()) {
        for (Rank v = 0; v < graph_.vertices(); ++v)
            largest_ = std::max(largest_, graph_.size_of(v));
        patience_ = std::min<std::int64_t>(graph_.vertices(), 60 + graph_.vertices() / 100);
    }

    bool run() {
        std::fill(done_.begin(), done_.end(), 0);
        for (Rank v = 0; v < graph_.vertices(); ++v) {
            Weight outside = 0, inside = 0;
            for (auto e = graph_.begin(v); e < graph_.end(v); ++e)
                (cut_.side[v] == cut_.side[graph_.neighbour[e]] ? inside : outside) += graph_.weight[e];
            gain_[v] = outside - inside;
            if (outside > 0)
                heap_[cut_.side[v]].push(v);
        }
        moved_.clear();
        auto best_violation = balance_.violation(cut_.first);
        const auto start_violation = best_violation;
        const auto start_weight = cut_.weight;
        auto best_weight = cut_.weight;
        std::size_t best_moves = 0;
        while (moved_.size() - best_moves < static_cast<std::size_t>(patience_)) {
            const Rank v = next();
            if (v == no_rank)
                break;
            move(v);
            const auto violation = balance_.violation(cut_.first);
            if (violation < best_violation || (violation == best_violation && cut_.weight < best_weight)) {
                best_violation = violation;
                best_weight = cut_.weight;
                best_moves = moved_.size();
            }
        }
        while (moved_.size() > best_moves) {
            const Rank v = moved_.back();
            moved_.pop_back();
            cut_.first += cut_.side[v] == 0 ? -graph_.size_of(v) : graph_.size_of(v);
            cut_.side[v] ^= 1;
        }
        cut_.weight = best_weight;
        heap_[0].clear();
        heap_[1].clear();
        return best_violation < start_violation || best_weight < start_weight;
    }

  private:
    // The vertex to move: of the side that is too large, else the better one of those that stay near balance.
    Rank next() {
        if (cut_.first > balance_.most)
            return from(0);
        if (cut_.first < balance_.least)
            return from(1);
        const bool zero =
            !heap_[0].empty() && cut_.first - graph_.size_of(heap_[0].top()) >= balance_.least - largest_;
        const bool one =
            !heap_[1].empty() && cut_.first + graph_.size_of(heap_[1].top()) <= balance_.most + largest_;
        if (zero && (!one || gain_[heap_[0].top()] >= gain_[heap_[1].top()]))
            return heap_[0].top();
        return one ? heap_[1].top() : no_rank;
    }

    Rank from(std::uint8_t side) {
        if (heap_[side].empty()) // nothing at the border is left: any vertex, for the balance
            for (Rank v = 0; v < graph_.vertices(); ++v)
                if (cut_.side[v] == side && !done_[v])
                    heap_[side].push(v);
        return heap_[side].empty() ? no_rank : heap_[side].top();
    }

    void move(Rank v) {
        const auto side = cut_.side[v];
        heap_[side].remove(v);
        done_[v] = 1;
        moved_.push_back(v);
        cut_.weight -= gain_[v];
        gain_[v] = -gain_[v];
        cut_.first += side == 0 ? -graph_.size_of(v) : graph_.size_of(v);
        cut_.side[v] ^= 1;
        for (auto e = graph_.begin(v); e < graph_.end(v); ++e) {
            const Rank u = graph_.neighbour[e];
            gain_[u] += cut_.side[u] == side ? 2 * graph_.weight[e] : -2 * graph_.weight[e];
            if (place_[u] >= 0)
                heap_[cut_.side[u]].changed(u);
            else if (!done_[u] && cut_.side[u] == side)
                heap_[side].push(u);
        }
    }

    const Graph &graph_;
    Cut &cut_;
    const Balance &balance_;
    std::vector<Weight> gain_;
    std::vector<std::int32_t> place_;
    std::array<GainHeap, 2> heap_;
    std::vector<std::uint8_t> done_;
    std::vector<Rank> moved_;
    std::int32_t largest_ = 0;
    std::int64_t patience_ = 0;
};

} // namespace

Cut make_cut(const Graph &graph, std::vector<std::uint8_t> side) {
    Cut cut{std::move(side), 0, 0};
    for (Rank v = 0; v < graph.vertices(); ++v) {
        if (cut.side[v] == 0)
            cut.first += graph.size_of(v);
        for (auto e = graph.begin(v); e < graph.end(v); ++e)
            if (graph.neighbour[e] > v && cut.side[v] != cut.side[graph.neighbour[e]])
                cut.weight += graph.weight[e];
    }
    return cut;
}

void improve(const Graph &graph, Cut &cut, const Balance &balance, std::int32_t passes) {
    Pass pass(graph, cut, balance);
    while (passes-- > 0 && pass.run()) {
    }
}

} // namespace rankwise::placement
