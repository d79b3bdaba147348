// SPDX-License-Identifier: BSD-3-Clause
#include "placement/mappers/renumbered_grids.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

namespace rankwise::placement {
namespace {

// Directions come in pairs: 2 d and 2 d + 1 are back and forth along dimension d.
constexpr std::size_t directions = 6;
constexpr std::size_t opposite(std::size_t direction) {
    return direction ^ 1;
}
using Steps = std::array<Rank, directions>;
using Point = std::array<std::int64_t, 3>;

// The edges from a weight on, as long as no vertex has more than a grid's.
class Skeleton {
  public:
    static std::optional<Skeleton> of(const Graph &graph, Weight least) {
        Skeleton found;
        found.near_.resize(static_cast<std::size_t>(graph.vertices()));
        for (Rank v = 0; v < graph.vertices(); ++v) {
            auto &near = found.near_[v];
            near.fill(no_rank);
            std::size_t count = 0;
            for (auto e = graph.begin(v); e < graph.end(v); ++e)
                if (graph.weight[e] >= least) {
                    if (count == directions)
                        return std::nullopt;
                    near[count++] = graph.neighbour[e];
                }
            if (count == 0)
                return std::nullopt;
        }
        return found;
    }

    const Steps &near(Rank v) const { return near_[v]; }

    bool adjacent(Rank v, Rank u) const {
        return std::find(near_[v].begin(), near_[v].end(), u) != near_[v].end();
    }

    // A neighbour that two vertices have in common, other than `known`.
    Rank common(Rank a, Rank b, Rank known) const {
        for (const Rank u : near_[a])
            if (u != no_rank && u != known && adjacent(b, u))
                return u;
        return no_rank;
    }

  private:
    std::vector<Steps> near_;
};

class Surveyor {
  public:
    explicit Surveyor(const Skeleton &skeleton, Rank vertices)
        : skeleton_(skeleton), step_(static_cast<std::size_t>(vertices)),
          known_(static_cast<std::size_t>(vertices), 0) {}

    std::optional<RenumberedGrid> survey() {
        if (!start() || !spread() || !measure())
            return std::nullopt;
        return numbered();
    }

  private:
    Rank vertices() const { return static_cast<Rank>(step_.size()); }

    static std::size_t count(const Steps &steps) {
        return directions - static_cast<std::size_t>(std::count(steps.begin(), steps.end(), no_rank));
    }

    // Directions of a vertex with the most neighbours: those without a square between them are opposite.
    bool start() {
        for (Rank v = 1; v < vertices(); ++v)
            if (count(skeleton_.near(v)) > count(skeleton_.near(first_)))
                first_ = v;
        Steps left = skeleton_.near(first_);
        std::size_t dimension = 0;
        step_[first_].fill(no_rank);
        for (std::size_t i = 0; i < directions; ++i) {
            if (left[i] == no_rank)
                continue;
            if (dimension == directions / 2)
                return false;
            const Rank a = std::exchange(left[i], no_rank);
            step_[first_][2 * dimension] = a;
            for (auto &b : left)
                if (b != no_rank && skeleton_.common(a, b, first_) == no_rank) {
                    if (step_[first_][2 * dimension + 1] != no_rank)
                        return false;
                    step_[first_][2 * dimension + 1] = std::exchange(b, no_rank);
                }
            ++dimension;
        }
        return true;
    }

    // From each vertex whose directions are known to its neighbours.
    bool spread() {
        std::vector<Rank> queue{first_};
        known_[first_] = 1;
        for (std::size_t at = 0; at < queue.size(); ++at)
            for (std::size_t way = 0; way < directions; ++way) {
                const Rank u = step_[queue[at]][way];
                if (u == no_rank || known_[u])
                    continue;
                if (!orient(queue[at], way))
                    return false;
                known_[u] = 1;
                queue.push_back(u);
            }
        return static_cast<Rank>(queue.size()) == vertices();
    }

    bool orient(Rank v, std::size_t way) {
        const Rank u = step_[v][way];
        Steps left = skeleton_.near(u);
        Steps &own = step_[u];
        own.fill(no_rank);
        const auto take = [&](std::size_t direction, Rank neighbour) {
            own[direction] = neighbour;
            const auto found = std::find(left.begin(), left.end(), neighbour);
            if (found == left.end())
                return false;
            *found = no_rank;
            return true;
        };
        if (!take(opposite(way), v))
            return false;
        for (std::size_t aside = 0; aside < directions; ++aside)
            if (aside / 2 != way / 2 && step_[v][aside] != no_rank) {
                const Rank corner = skeleton_.common(u, step_[v][aside], v);
                if (corner == no_rank || !take(aside, corner))
                    return false;
            }
        if (count(left) > 1)
            return false;
        for (const Rank ahead : left)
            if (ahead != no_rank)
                own[way] = ahead;
        return true;
    }

    // Goes along each dimension from the first vertex, until there is no more or it is back.
    bool measure() {
        std::int64_t points = 1;
        for (std::size_t d = 0; d < 3; ++d) {
            std::int64_t back = 0, forth = 0;
            Rank v = first_;
            while ((v = step_[v][2 * d]) != no_rank && v != first_ && back < vertices())
                ++back;
            wraps_[d] = v == first_;
            for (v = first_; !wraps_[d] && (v = step_[v][2 * d + 1]) != no_rank && forth < vertices();)
                ++forth;
            extent_[d] = back + forth + 1;
            origin_[d] = wraps_[d] ? 0 : back;
            points *= extent_[d];
            if (points > vertices())
                return false;
        }
        return points == vertices();
    }

    std::optional<RenumberedGrid> numbered() {
        std::vector<Point> point(step_.size());
        std::vector<Rank> queue{first_};
        std::fill(known_.begin(), known_.end(), 0);
        point[first_] = origin_;
        known_[first_] = 1;
        for (std::size_t at = 0; at < queue.size(); ++at)
            for (std::size_t way = 0; way < directions; ++way) {
                const Rank v = queue[at], u = step_[v][way];
                if (u == no_rank)
                    continue;
                Point next = point[v];
                auto &x = next[way / 2];
                x += way % 2 ? 1 : -1;
                if (wraps_[way / 2])
                    x = (x + extent_[way / 2]) % extent_[way / 2];
                if (x < 0 || x >= extent_[way / 2] || (known_[u] && point[u] != next))
                    return std::nullopt;
                if (!std::exchange(known_[u], std::uint8_t{1})) {
                    point[u] = next;
                    queue.push_back(u);
                }
            }
        RenumberedGrid grid{{}, std::vector<Rank>(step_.size(), no_rank)};
        for (Rank v = 0; v < vertices(); ++v) {
            auto &there = grid.order[static_cast<std::size_t>(
                point[v][0] + extent_[0] * (point[v][1] + extent_[1] * point[v][2]))];
            if (there != no_rank)
                return std::nullopt;
            there = v;
        }
        for (const auto extent : extent_)
            if (extent > 1)
                grid.extents.push_back(extent);
        if (grid.extents.size() < 2)
            return std::nullopt;
        return grid;
    }

    const Skeleton &skeleton_;
    std::vector<Steps> step_; // the neighbour of each vertex in each direction
    std::vector<std::uint8_t> known_;
    Rank first_ = 0;
    std::array<bool, 3> wraps_{};
    Point extent_{1, 1, 1}, origin_{};
};

} // namespace

std::optional<RenumberedGrid> find_renumbered_grid(const Graph &graph) {
    constexpr std::size_t most_weights = 3;
    if (graph.vertices() < 4 || graph.edges() < graph.vertices() / 2)
        return std::nullopt;
    // The heaviest weights, and the least of all.
    std::set<Weight, std::greater<>> heaviest;
    Weight least = graph.weight.front();
    for (const auto weight : graph.weight) {
        least = std::min(least, weight);
        if (heaviest.size() < most_weights || weight > *heaviest.rbegin())
            heaviest.insert(weight);
        if (heaviest.size() > most_weights)
            heaviest.erase(std::prev(heaviest.end()));
    }
    heaviest.insert(least);
    for (const auto weight : heaviest)
        if (const auto skeleton = Skeleton::of(graph, weight))
            if (auto grid = Surveyor(*skeleton, graph.vertices()).survey())
                return grid;
    return std::nullopt;
}

} // namespace rankwise::placement
