// SPDX-License-Identifier: BSD-3-Clause
#include "timeline.hpp"

#include <algorithm>
#include <utility>

#include "arrays.hpp"

namespace nb = nanobind;
using namespace rankwise::replay;

namespace {

/// A column of what a function says of each element.
template <class T, class Elements, class Get> nb::object column(const Elements &elements, Get get) {
    std::vector<T> out;
    out.reserve(elements.size());
    for (const auto &element : elements)
        out.push_back(static_cast<T>(get(element)));
    return to_numpy(std::move(out));
}

} // namespace

nb::dict timeline_columns(const rankwise::LargeArray<Step> &steps, const Timeline &timeline) {
    nb::dict out;
    out["rank"] = column<std::uint32_t>(steps, [](const Step &step) { return step.rank; });
    out["kind"] = column<std::uint8_t>(steps, [](const Step &step) { return step.kind(); });
    out["bytes"] = column<std::uint64_t>(
        steps, [](const Step &step) { return step.kind() == Kind::calc ? 0 : step.bytes(); });
    out["partner"] = column<std::uint32_t>(steps, [](const Step &step) { return step.partner; });
    using Times = OperationTimes;
    const std::pair<const char *, Picoseconds Times::*> times[] = {{"ready", &Times::ready},
                                                                   {"begin", &Times::begin},
                                                                   {"end", &Times::end},
                                                                   {"arrives", &Times::arrives}};
    for (const auto &[name, field] : times)
        out[name] = column<std::int64_t>(timeline.operations, [&](const Times &each) { return each.*field; });
    out["gap_op"] = column<std::uint32_t>(timeline.gaps, [](const Timeline::Gap &gap) { return gap.op; });
    out["gap_from"] = column<std::int64_t>(timeline.gaps, [](const Timeline::Gap &gap) { return gap.from; });
    out["gap_to"] = column<std::int64_t>(timeline.gaps, [](const Timeline::Gap &gap) { return gap.to; });
    return out;
}
