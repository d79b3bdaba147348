// SPDX-License-Identifier: BSD-3-Clause
#include "trace/size_bins.hpp"

#include "rooms.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_trace(nb::module_ &module) {
    auto room = module.def_submodule("trace");
    room.def("size_bin", &rankwise::trace::size_bin, "bytes"_a);
    room.def("size_bin_upper", &rankwise::trace::size_bin_upper, "bin"_a);
}
