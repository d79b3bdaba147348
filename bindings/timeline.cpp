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

nb::dict timeline_columns(const Schedule &schedule, const std::vector<std::uint32_t> &partner,
                          const Timeline &timeline) {
    nb::dict out;
    std::vector<std::uint32_t> rank(schedule.operations.size());
    for (std::uint32_t r = 0; r < schedule.ranks(); ++r)
        std::fill(rank.begin() + schedule.first[r], rank.begin() + schedule.first[r + 1], r);
    out["rank"] = to_numpy(std::move(rank));
    const auto &operations = schedule.operations;
    out["kind"] = column<std::uint8_t>(operations, [](const Operation &op) { return op.kind(); });
    out["peer"] = column<std::uint32_t>(operations, [](const Operation &op) { return op.peer; });
    out["bytes"] = column<std::uint64_t>(operations, [](const Operation &op) { return op.bytes(); });
    out["partner"] = to_numpy(std::vector<std::uint32_t>(partner));
    using Times = OperationTimes;
    const std::pair<const char *, Picoseconds Times::*> times[] = {
        {"ready", &Times::ready}, {"begin", &Times::begin}, {"end", &Times::end},
        {"sent", &Times::sent},   {"on_link", &Times::on_link}, {"on_tx", &Times::on_tx},
        {"at_rx", &Times::at_rx}, {"on_rx", &Times::on_rx}, {"arrives", &Times::arrives}};
    for (const auto &[name, field] : times)
        out[name] = column<std::int64_t>(timeline.operations, [&](const Times &each) { return each.*field; });
    out["released_by"] =
        column<std::uint32_t>(timeline.operations, [](const Times &each) { return each.released_by; });
    out["after"] = column<std::uint32_t>(timeline.operations, [](const Times &each) { return each.after; });
    out["gap_op"] = column<std::uint32_t>(timeline.gaps, [](const Timeline::Gap &gap) { return gap.op; });
    out["gap_from"] = column<std::int64_t>(timeline.gaps, [](const Timeline::Gap &gap) { return gap.from; });
    out["gap_to"] = column<std::int64_t>(timeline.gaps, [](const Timeline::Gap &gap) { return gap.to; });
    return out;
}
