// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <chrono>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "error.hpp"
#include "many_placements.hpp"
#include "placement/bound.hpp"
#include "placement/mappers/greedy.hpp"
#include "placement/mappers/refine.hpp"
#include "placement/mapping.hpp"
#include "replay/streamed_trace.hpp"
#include "rooms.hpp"
#include "schedule.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace rankwise::placement;

namespace {

template <typename T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename Array> auto values(const Array &array) {
    return std::vector<std::remove_const_t<typename Array::Scalar>>(array.data(),
                                                                    array.data() + array.size());
}

// Ends a search when its time is over, or at Ctrl-C, which the caller is told of and keeps the best so far.
class Clock {
  public:
    explicit Clock(std::optional<double> budget_s) : budget_s_(budget_s) {}

    bool over() {
        if (interrupted_)
            return true;
        if (PyErr_CheckSignals() != 0) {
            if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
                throw nb::python_error();
            PyErr_Clear();
            return interrupted_ = true;
        }
        return budget_s_ &&
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() > *budget_s_;
    }

    bool interrupted() const { return interrupted_; }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::optional<double> budget_s_;
    bool interrupted_ = false;
};

class Search {
  public:
    Search(const Table<std::int32_t> &groups, const Vector<std::int32_t> &node,
           const Vector<std::int64_t> &offsets, const Vector<std::int32_t> &neighbour,
           const Table<float> &cost, const Vector<float> &nic_out, const Vector<float> &nic_in)
        : hierarchy_{static_cast<std::int32_t>(groups.shape(1)), values(groups), values(node)},
          matrix_{static_cast<Rank>(offsets.size()) - 1,
                  values(offsets),
                  values(neighbour),
                  values(cost),
                  values(nic_out),
                  values(nic_in)} {
        if (matrix_.ranks > hierarchy_.count())
            throw rankwise::Error("`" + std::to_string(matrix_.ranks) + "` ranks do not fit on `" +
                                  std::to_string(hierarchy_.count()) + "` cores");
    }

    void share(std::vector<std::int32_t> memory, std::vector<double> demand, std::vector<Slot> interrupt_core,
               std::vector<double> busy, double interrupts) {
        const auto ranks = static_cast<std::size_t>(matrix_.ranks);
        if ((!memory.empty() && memory.size() != hierarchy_.node.size()) ||
            (!demand.empty() && demand.size() != ranks) || (!interrupt_core.empty() && busy.size() != ranks))
            throw rankwise::Error("loads need a value for each slot and each rank");
        loads_.memory = std::move(memory);
        loads_.demand = std::move(demand);
        loads_.interrupt_core = std::move(interrupt_core);
        loads_.busy = std::move(busy);
        loads_.interrupts = interrupts;
    }

    void use_interfaces(std::vector<std::int32_t> of_slot, std::vector<double> shares) {
        const auto is_group = [&](std::int32_t group) {
            return group >= 0 && static_cast<std::size_t>(group) < shares.size();
        };
        if (of_slot.size() != hierarchy_.node.size() ||
            !std::all_of(of_slot.begin(), of_slot.end(), is_group) ||
            !std::all_of(shares.begin(), shares.end(), [](double share) { return share > 0 && share <= 1; }))
            throw rankwise::Error("each slot needs interfaces, and these a share of its messages");
        loads_.interface = std::move(of_slot);
        loads_.interface_share = std::move(shares);
    }

    std::vector<Slot> grow() const { return rankwise::placement::grow(hierarchy_, matrix_).slot; }

    nb::tuple score(const std::vector<Slot> &slot) const {
        const TimeEstimate estimate(hierarchy_, matrix_, loads_, make_placement(slot, hierarchy_.count()));
        return nb::make_tuple(estimate.value(), estimate.busiest_interface());
    }

    std::vector<Slot> refine(const std::vector<Slot> &slot, std::uint64_t seed, std::int32_t rounds,
                             std::optional<double> budget_s, const std::vector<bool> &fixed,
                             bool keep_nodes) {
        TimeEstimate estimate(hierarchy_, matrix_, loads_, make_placement(slot, hierarchy_.count()));
        Clock clock(budget_s);
        RefineOptions options;
        options.seed = seed;
        options.rounds = rounds;
        options.stop = [&] { return clock.over(); };
        options.fixed.assign(fixed.begin(), fixed.end());
        options.keep_nodes = keep_nodes;
        rankwise::placement::refine(estimate, hierarchy_, matrix_, options);
        interrupted_ = interrupted_ || clock.interrupted();
        return estimate.placement().slot;
    }

    // What a pair saves by being as near as can be is the weight of its edge.
    std::vector<Slot> multisect(std::uint64_t seed) {
        const auto width = static_cast<std::size_t>(hierarchy_.levels) + 1;
        float most = 0;
        std::vector<float> saved(matrix_.neighbour.size());
        for (std::size_t e = 0; e < saved.size(); ++e) {
            saved[e] = std::max(0.0F, matrix_.cost[e * width] - matrix_.cost[e * width + width - 2]);
            most = std::max(most, saved[e]);
        }
        std::vector<Weight> weight(saved.size());
        for (std::size_t e = 0; e < saved.size(); ++e)
            weight[e] = most > 0 ? static_cast<Weight>(1e6 * static_cast<double>(saved[e] / most)) : 0;
        // Both ends' sums may differ in the last digit: the lower rank's counts.
        for (Rank v = 0; v < matrix_.ranks; ++v)
            for (auto e = matrix_.offsets[v]; e < matrix_.offsets[v + 1]; ++e)
                if (const Rank u = matrix_.neighbour[e]; u < v) {
                    const auto row = matrix_.neighbour.begin();
                    const auto twin =
                        std::lower_bound(row + matrix_.offsets[u], row + matrix_.offsets[u + 1], v);
                    weight[e] = weight[twin - row];
                }
        const Graph graph = make_graph(matrix_.offsets, matrix_.neighbour, weight);
        Clock clock(std::nullopt);
        Random random(seed);
        auto slot =
            rankwise::placement::multisect(graph, hierarchy_, random, 4, [&] { return clock.over(); });
        if (!slot.empty() && hierarchy_.levels > 1) {
            const auto changed = exchange(graph, hierarchy_, slot, 4, 1e18, [&] { return clock.over(); });
            arrange_inside(graph, hierarchy_, 1, slot, changed, random, 4);
        }
        interrupted_ = interrupted_ || clock.interrupted();
        return slot;
    }

    bool interrupted() const { return interrupted_; }

  private:
    Hierarchy hierarchy_;
    CommMatrix matrix_;
    rankwise::placement::Loads loads_;
    bool interrupted_ = false;
};

class Mapping {
  public:
    Mapping(const Graph &graph, std::vector<std::int32_t> arity, const std::vector<double> &distances)
        : graph_(graph), arity_(std::move(arity)), hierarchy_(uniform_hierarchy(arity_)) {
        if (distances.size() != arity_.size())
            throw rankwise::Error("`" + std::to_string(distances.size()) +
                                      "` distances do not fit a hierarchy of `" +
                                      std::to_string(arity_.size()) + "` levels",
                                  "give a distance for each level, nearest first");
        distances_.of_level.assign(distances.rbegin(), distances.rend());
        distances_.of_level.push_back(0);
    }

    nb::tuple score(const std::vector<Slot> &slot) const {
        const auto cost =
            mapping_cost(graph_, hierarchy_, distances_, make_placement(slot, hierarchy_.count()).slot);
        return nb::make_tuple(cost.total, cost.busiest);
    }

    double bound() const { return lower_bound(graph_, hierarchy_, distances_); }

    nb::tuple search(std::uint64_t seed, std::optional<double> budget_s, bool never_busier,
                     const Extents &grid, const std::vector<std::vector<Slot>> &given,
                     const nb::object &progress) const {
        Clock clock(budget_s);
        MapOptions options{seed,  budget_s.has_value(),         never_busier, grid,
                           given, [&] { return clock.over(); }, nullptr};
        if (!progress.is_none())
            options.progress = [&](const std::string &name, const MappingCost &best) {
                progress(name, best.total, best.busiest);
            };
        nb::list found;
        for (auto &each : map_graph(graph_, hierarchy_, arity_, distances_, options))
            found.append(nb::make_tuple(each.name, to_numpy(std::move(each.slot)), each.cost.total,
                                        each.cost.busiest));
        return nb::make_tuple(found, clock.interrupted());
    }

  private:
    const Graph &graph_;
    std::vector<std::int32_t> arity_;
    Hierarchy hierarchy_;
    Distances distances_;
};

void bind_mapping(nb::module_ &room) {
    nb::class_<Graph>(room, "Graph")
        .def(nb::new_([](const Vector<std::int64_t> &offsets, const Vector<std::int32_t> &neighbour,
                         const Vector<std::int64_t> &weight) {
                 return make_graph({offsets.data(), offsets.size()}, {neighbour.data(), neighbour.size()},
                                   {weight.data(), weight.size()});
             }),
             "offsets"_a, "neighbour"_a, "weight"_a)
        .def_static(
            "read_metis",
            [](const nb::bytes &text, const std::string &name) {
                return read_metis({text.c_str(), text.size()}, name);
            },
            "text"_a, "name"_a)
        .def_prop_ro("vertices", &Graph::vertices)
        .def_prop_ro("edges", &Graph::edges);
    nb::class_<Mapping>(room, "Mapping")
        .def(nb::init<const Graph &, std::vector<std::int32_t>, const std::vector<double> &>(), "graph"_a,
             "arity"_a, "distances"_a, nb::keep_alive<1, 2>())
        .def("score", &Mapping::score, "slot"_a)
        .def("lower_bound", &Mapping::bound)
        .def("search", &Mapping::search, "seed"_a = 1, "budget_s"_a = nb::none(), "never_busier"_a = false,
             "grid"_a = Extents{}, "given"_a = std::vector<std::vector<Slot>>{}, "progress"_a = nb::none());
}

void bind_estimates(const nb::object &schedules) {
    using rankwise::machine::Machine;
    nb::borrow<nb::class_<MatchedSchedule>>(schedules.attr("Schedule"))
        .def(
            "estimates_s",
            [](const MatchedSchedule &s, const Machine &machine, const Placements &placements,
               unsigned threads) {
                return times_of_all(machine, placements, s.schedule.ranks(), [&] {
                    return s.estimates(s.schedule, s.matching, machine, placements, threads);
                });
            },
            "machine"_a, "placements"_a, "threads"_a = 0);
    // There is no order of a whole replay to estimate by: every placement is replayed.
    const auto streamed =
        nb::borrow<nb::class_<rankwise::replay::StreamedTrace>>(schedules.attr("StreamedTrace"));
    streamed.attr("estimates_s") = streamed.attr("makespans_s");
}

} // namespace

void bind_placement(nb::module_ &module) {
    auto room = module.def_submodule("placement");
    bind_mapping(room);
    bind_estimates(module.attr("schedule"));
    nb::class_<Search>(room, "Search")
        .def(nb::init<const Table<std::int32_t> &, const Vector<std::int32_t> &, const Vector<std::int64_t> &,
                      const Vector<std::int32_t> &, const Table<float> &, const Vector<float> &,
                      const Vector<float> &>(),
             "groups"_a, "node"_a, "offsets"_a, "neighbour"_a, "cost"_a, "nic_out"_a, "nic_in"_a)
        .def("share", &Search::share, "memory"_a, "demand"_a, "interrupt_core"_a, "busy"_a, "interrupts"_a)
        .def("use_interfaces", &Search::use_interfaces, "of_slot"_a, "shares"_a,
             "Nodes have several interfaces: which ones ranks of each slot share, by number over all nodes, "
             "and of each "
             "of these numbers what part of its messages each interface has.")
        .def("grow", &Search::grow)
        .def("score", &Search::score, "slot"_a)
        .def("multisect", &Search::multisect, "seed"_a = 1)
        .def("refine", &Search::refine, "slot"_a, "seed"_a = 1, "rounds"_a = 50, "budget_s"_a = nb::none(),
             "fixed"_a = std::vector<bool>{}, "keep_nodes"_a = false)
        .def_prop_ro("interrupted", &Search::interrupted);
}
