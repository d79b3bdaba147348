// SPDX-License-Identifier: BSD-3-Clause
#include "placement/mappers/tiling.hpp"

#include <algorithm>

namespace rankwise::placement {
namespace {

using Set = std::uint32_t;
constexpr std::size_t most_digits = 20;
constexpr double most_steps = 2e8; // of the pass over chains

bool powers_of_two(std::span<const Digit> digits) {
    return std::all_of(digits.begin(), digits.end(), [](const Digit &d) { return d.radix == 2; });
}

// For each set of digits: the weight of edges whose ends differ in no others.
std::vector<double> weight_inside(const Graph &graph, std::span<const Digit> digits, std::uint32_t every) {
    std::vector<double> inside(std::size_t{1} << digits.size(), 0);
    const bool binary = powers_of_two(digits);
    std::vector<std::uint8_t> digit(binary ? 0 : static_cast<std::size_t>(graph.vertices()) * digits.size());
    if (!binary)
        for (Rank v = 0; v < graph.vertices(); ++v)
            for (std::size_t i = 0; i < digits.size(); ++i)
                digit[static_cast<std::size_t>(v) * digits.size() + i] =
                    static_cast<std::uint8_t>(v / digits[i].place % digits[i].radix);
    for (Rank v = 0; v < graph.vertices(); ++v) {
        if (every > 1 && (static_cast<std::uint32_t>(v) * 2654435761U >> 8) % every != 0)
            continue; // scattered, so that no column of a grid is left out
        for (auto e = graph.begin(v); e < graph.end(v); ++e) {
            const Rank u = graph.neighbour[e];
            if (every == 1 && u > v)
                continue;
            Set differ = 0;
            if (binary)
                differ = static_cast<Set>(u ^ v);
            else
                for (std::size_t i = 0; i < digits.size(); ++i)
                    differ |= static_cast<Set>(digit[static_cast<std::size_t>(v) * digits.size() + i] !=
                                               digit[static_cast<std::size_t>(u) * digits.size() + i])
                              << i;
            inside[differ] += static_cast<double>(graph.weight[e]);
        }
    }
    for (std::size_t i = 0; i < digits.size(); ++i)
        for (Set set = 0; set < inside.size(); ++set)
            if (set >> i & 1)
                inside[set] += inside[set ^ (Set{1} << i)];
    return inside;
}

std::vector<std::int32_t> primes(std::int64_t rest) {
    std::vector<std::int32_t> found;
    for (std::int64_t prime = 2; rest > 1; ++prime) {
        if (prime * prime > rest)
            prime = rest;
        for (; rest % prime == 0; rest /= prime)
            found.push_back(static_cast<std::int32_t>(prime));
    }
    return found;
}

// How many orders there are of sorted numbers, equal ones alike.
double permutations(std::span<const std::int32_t> sorted) {
    double count = 1, equal = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        equal = i > 0 && sorted[i] == sorted[i - 1] ? equal + 1 : 1;
        count *= static_cast<double>(i + 1) / equal;
    }
    return count;
}

} // namespace

std::optional<Tiling> tile(const Graph &graph, std::span<const std::int32_t> arity,
                           const Distances &distances, std::span<const Digit> digits, std::uint32_t every) {
    const std::int64_t n = graph.vertices();
    std::vector<std::int64_t> size; // of the blocks, smallest first, nodes last
    std::int64_t node = 1;
    for (std::size_t i = 0; i + 1 < arity.size(); ++i)
        size.push_back(node *= arity[i]);
    if (digits.size() > most_digits || n % node != 0 || digits.empty() ||
        std::any_of(digits.begin(), digits.end(), [](const Digit &d) { return d.radix > 255; }))
        return std::nullopt;
    const auto inside = weight_inside(graph, digits, every);
    std::vector<double> product(inside.size(), 1);
    for (Set set = 1; set < inside.size(); ++set) {
        const auto low = static_cast<std::size_t>(__builtin_ctz(set));
        product[set] = product[set & (set - 1)] * digits[low].radix;
    }
    // saved[set]: the most that levels up to the present save with `set` as the digits of the present one's
    // blocks.
    std::vector<double> saved(inside.size(), -1);
    saved[0] = 0;
    std::vector<std::vector<Set>> below; // the set of the level before
    std::int64_t smaller = 1;
    for (std::size_t level = 0; level < size.size(); ++level) {
        std::vector<double> next(inside.size(), -1);
        std::vector<Set> from(inside.size(), 0);
        const auto depth = arity.size() - 1 - level; // slots of one block agree on this many levels, or more
        const double gain = distances.of_level[depth - 1] - distances.of_level[depth];
        double steps = 0;
        for (Set set = 0; set < inside.size(); ++set) {
            if (product[set] != static_cast<double>(size[level]))
                continue;
            if ((steps += static_cast<double>(Set{1} << __builtin_popcount(set))) > most_steps)
                return std::nullopt;
            for (Set part = set;; part = (part - 1) & set) {
                if (product[part] == static_cast<double>(smaller) && saved[part] >= 0 &&
                    saved[part] + gain * inside[set] > next[set]) {
                    next[set] = saved[part] + gain * inside[set];
                    from[set] = part;
                }
                if (part == 0)
                    break;
            }
        }
        saved = std::move(next);
        below.push_back(std::move(from));
        smaller = size[level];
    }
    const auto best = std::max_element(saved.begin(), saved.end());
    if (*best < 0)
        return std::nullopt;
    // Slots: the digits of the smallest blocks first, those of no block last.
    std::vector<Set> order{static_cast<Set>(inside.size() - 1)};
    Set set = static_cast<Set>(best - saved.begin());
    for (auto level = below.size(); level-- > 0; set = below[level][set])
        order.push_back(set);
    std::vector<std::int64_t> worth(digits.size());
    std::int64_t place = 1;
    Set done = 0;
    for (auto each = order.rbegin(); each != order.rend(); ++each)
        for (std::size_t i = 0; i < digits.size(); ++i)
            if ((*each & ~done) >> i & 1) {
                worth[i] = place;
                place *= digits[i].radix;
                done |= Set{1} << i;
            }
    std::vector<Slot> slot(static_cast<std::size_t>(n), 0);
    for (std::int64_t v = 0; v < n; ++v)
        for (std::size_t i = 0; i < digits.size(); ++i)
            slot[static_cast<std::size_t>(v)] +=
                static_cast<Slot>(v / digits[i].place % digits[i].radix * worth[i]);
    return Tiling{std::move(slot), *best};
}

std::optional<Tiling> tile_grid(const Graph &graph, std::span<const std::int32_t> arity,
                                const Distances &distances, std::span<const std::int64_t> dimensions) {
    // The order of factors within a dimension is which of its boxes are contiguous.
    std::vector<std::vector<std::int32_t>> factors;
    double orders = 1;
    for (const auto dimension : dimensions) {
        factors.push_back(primes(dimension));
        orders *= permutations(factors.back());
    }
    const auto digits_of = [&] {
        std::vector<Digit> digits;
        std::int64_t place = 1;
        for (const auto &dimension : factors)
            for (const auto prime : dimension) {
                digits.push_back({prime, place});
                place *= prime;
            }
        return digits;
    };
    constexpr double most_orders = 300, most_edges = 2e7;
    if (orders > most_orders)
        return tile(graph, arity, distances, digits_of());
    const double edges = static_cast<double>(graph.neighbour.size()) * orders;
    const auto every = static_cast<std::uint32_t>(orders == 1 ? 1 : 1 + edges / most_edges);
    std::optional<Tiling> best;
    std::vector<Digit> best_digits;
    for (bool more = true; more;) {
        auto digits = digits_of();
        auto tiling = tile(graph, arity, distances, digits, every);
        if (tiling && (!best || tiling->saved > best->saved)) {
            best = std::move(tiling);
            best_digits = std::move(digits);
        }
        more = false;
        for (auto &dimension : factors)
            if ((more = std::next_permutation(dimension.begin(), dimension.end())))
                break;
    }
    if (best && every > 1)
        return tile(graph, arity, distances, best_digits);
    return best;
}

} // namespace rankwise::placement
