// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "error.hpp"
#include "placement/greedy.hpp"
#include "placement/refine.hpp"
#include "rooms.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace rankwise::placement;

namespace {

template <typename T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename Array> auto values(const Array &array) {
    return std::vector<std::remove_const_t<typename Array::Scalar>>(array.data(), array.data() + array.size());
}

class Search {
  public:
    Search(const Table<std::int32_t> &groups, const Vector<std::int32_t> &node, const Vector<std::int64_t> &offsets,
           const Vector<std::int32_t> &neighbour, const Table<float> &cost, const Vector<float> &nic_out,
           const Vector<float> &nic_in)
        : slots_{static_cast<std::int32_t>(groups.shape(1)), values(groups), values(node)},
          traffic_{static_cast<Rank>(offsets.size()) - 1, values(offsets), values(neighbour), values(cost), values(nic_out),
                   values(nic_in)} {
        if (traffic_.ranks > slots_.count())
            throw rankwise::Error("`" + std::to_string(traffic_.ranks) + "` ranks do not fit on `" +
                                  std::to_string(slots_.count()) + "` cores");
    }

    std::vector<Slot> grow() const { return rankwise::placement::grow(slots_, traffic_).slot; }

    nb::tuple score(const std::vector<Slot> &slot) const {
        const Surrogate surrogate(slots_, traffic_, make_assignment(slot, slots_.count()));
        return nb::make_tuple(surrogate.value(), surrogate.busiest_interface());
    }

    std::vector<Slot> refine(const std::vector<Slot> &slot, std::uint64_t seed, std::int32_t rounds,
                             std::optional<double> budget_s) const {
        Surrogate surrogate(slots_, traffic_, make_assignment(slot, slots_.count()));
        const auto start = std::chrono::steady_clock::now();
        RefineOptions options;
        options.seed = seed;
        options.rounds = rounds;
        options.stop = [&] {
            if (PyErr_CheckSignals() != 0) // Ctrl-C: keep the best so far, the caller sees the signal
                throw nb::python_error();
            return budget_s && std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > *budget_s;
        };
        rankwise::placement::refine(surrogate, slots_, traffic_, options);
        return surrogate.assignment().slot;
    }

  private:
    Slots slots_;
    Traffic traffic_;
};

} // namespace

void bind_placement(nb::module_ &module) {
    auto room = module.def_submodule("placement");
    nb::class_<Search>(room, "Search")
        .def(nb::init<const Table<std::int32_t> &, const Vector<std::int32_t> &, const Vector<std::int64_t> &,
                      const Vector<std::int32_t> &, const Table<float> &, const Vector<float> &, const Vector<float> &>(),
             "groups"_a, "node"_a, "offsets"_a, "neighbour"_a, "cost"_a, "nic_out"_a, "nic_in"_a)
        .def("grow", &Search::grow)
        .def("score", &Search::score, "slot"_a)
        .def("refine", &Search::refine, "slot"_a, "seed"_a = 1, "rounds"_a = 50, "budget_s"_a = nb::none());
}
