// SPDX-License-Identifier: BSD-3-Clause
#include "replay/static_pass.hpp"

#include <algorithm>
#include <array>

#include "replay/message_costs.hpp"

namespace rankwise::replay {
namespace {

using machine::CoreSharing;
using machine::Layout;
using machine::Machine;

constexpr std::size_t width = 8; ///< placements side by side

/// A time for each of some placements, in picoseconds; whole numbers are exact up to 2.5 hours.
struct alignas(64) Lanes : std::array<double, width> {};

/// One pass for up to `width` placements.
class Pass {
  public:
    Pass(const Schedule &schedule, const LargeArray<Step> &steps, const Machine &machine,
         std::span<const Layout> layouts)
        : schedule_(schedule), steps_(steps), machine_(machine), layouts_(layouts), costs_(machine),
          ready_(steps.size()), processor_(std::size_t{schedule.ranks()} * schedule.cpus),
          link_(std::size_t{schedule.ranks()} * schedule.nics), slowdown_(schedule.ranks()) {
        std::uint32_t nodes = 0;
        for (const Layout &layout : layouts)
            nodes = std::max(nodes, layout.nodes());
        tx_.resize(nodes);
        rx_.resize(nodes);
        for (std::size_t l = 0; l < layouts.size(); ++l)
            find_slowdown(machine, layouts[l], l);
    }

    void run(const ServiceOrder &order) {
        for (std::size_t k = 0; k < order.entries.size(); ++k) {
            if (k + 8 < order.entries.size()) {
                const std::uint32_t op = order.entries[k + 8] >> ServiceOrder::part_bits;
                __builtin_prefetch(&steps_[op]);
                __builtin_prefetch(&ready_[op]);
            }
            const std::uint32_t op = order.entries[k] >> ServiceOrder::part_bits;
            switch (order.entries[k] & ((1u << ServiceOrder::part_bits) - 1)) {
            case ServiceOrder::data:
                data(op);
                break;
            case ServiceOrder::post:
                if (steps_[op].release.count == Release::listed)
                    release(op, ready_[op], true);
                break;
            default:
                if (steps_[op].kind() == Kind::calc)
                    compute(op);
                else if (steps_[op].kind() == Kind::send)
                    send(op);
                else
                    receive(op);
            }
        }
    }

    Picoseconds makespan(std::size_t lane) const { return static_cast<Picoseconds>(last_[lane]); }

  private:
    /// Ranks on one core: each takes as many times as long as there are ranks for one core.
    void find_slowdown(const Machine &machine, const Layout &layout, std::size_t lane) {
        std::vector<std::uint32_t> users(layout.capacity.size());
        for (const std::uint32_t processor : layout.processor)
            ++users[processor];
        for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
            const std::uint32_t processor = layout.processor[r];
            const double shares = static_cast<double>(users[processor]) / layout.capacity[processor];
            slowdown_[r][lane] = machine.core_sharing == CoreSharing::none ? 1 : std::max(1.0, shares);
        }
    }

    Lanes &processor(const Step &step) { return processor_[step.rank * schedule_.cpus + step.lane.cpu]; }

    const MessageCost &cost(std::size_t lane, std::uint32_t from, std::uint32_t to, std::uint64_t message) {
        return costs_.get(layouts_[lane].link(from, to), message);
    }

    void compute(std::uint32_t op) {
        const Step &step = steps_[op];
        Lanes &cpu = processor(step);
        const Lanes &slow = slowdown_[step.rank];
        const auto time = static_cast<double>(step.time());
        Lanes begin, end;
        for (std::size_t l = 0; l < width; ++l) {
            begin[l] = std::max(ready_[op][l], cpu[l]);
            cpu[l] = end[l] = begin[l] + time * slow[l];
        }
        if (step.release.count == Release::listed)
            release(op, begin, true);
        finish(op, end);
    }

    /// From now on `ready_` of the send is when its processor has done o.
    void send(std::uint32_t op) {
        const Step &step = steps_[op];
        Lanes &cpu = processor(step);
        const Lanes &slow = slowdown_[step.rank];
        Lanes begin{};
        for (std::size_t l = 0; l < layouts_.size(); ++l) {
            const MessageCost &c = cost(l, step.rank, step.peer, step.message());
            begin[l] = std::max(ready_[op][l], cpu[l]);
            ready_[op][l] = begin[l] + static_cast<double>(c.o_send) * slow[l];
            cpu[l] = ready_[op][l] + (c.eager ? static_cast<double>(c.on_core) * slow[l] : 0);
        }
        if (step.release.count == Release::listed)
            release(op, begin, true);
    }

    /// From now on `ready_` of the send is when its last byte is at the receiver.
    void data(std::uint32_t op) {
        const Step &step = steps_[op];
        Lanes &cpu = processor(step);
        Lanes &link = link_[step.rank * schedule_.nics + step.lane.nic];
        const Lanes &posted = ready_[step.partner];
        Lanes end{};
        for (std::size_t l = 0; l < layouts_.size(); ++l) {
            const MessageCost &c = cost(l, step.rank, step.peer, step.message());
            const Picoseconds travel = control_time(machine_, layouts_[l], c, step.rank, step.peer);
            const auto control = static_cast<double>(travel), on_core = static_cast<double>(c.on_core),
                       span = static_cast<double>(c.span);
            double leaves = ready_[op][l];
            end[l] = leaves + on_core;
            if (!c.eager) {
                leaves = std::max(leaves + control, posted[l]) + control;
                if (c.in_call)
                    leaves = std::max(leaves, cpu[l]);
                if (on_core > 0)
                    cpu[l] = std::max(cpu[l], leaves) + on_core;
                end[l] = cpu[l];
            }
            if (c.overlap) {
                leaves = std::max(leaves, link[l]);
                link[l] = leaves + static_cast<double>(c.gap);
            }
            double arrives;
            if (c.network) {
                double &tx = tx_[layouts_[l].node[step.rank]][l], &rx = rx_[layouts_[l].node[step.peer]][l];
                leaves = std::max(leaves, tx);
                tx = leaves + static_cast<double>(c.tx);
                const Picoseconds hops = hop_time(machine_.network, layouts_[l], step.rank, step.peer);
                const double first = leaves + static_cast<double>(c.latency + hops);
                rx = std::max(first, rx) + static_cast<double>(c.rx);
                arrives = std::max(first + span, rx);
            } else {
                arrives = leaves + span + static_cast<double>(c.latency);
            }
            if (!c.eager)
                end[l] = on_core > 0 ? std::max(end[l], leaves + span) : leaves + span;
            ready_[op][l] = arrives;
        }
        finish(op, end);
    }

    void receive(std::uint32_t op) {
        const Step &step = steps_[op];
        Lanes &cpu = processor(step);
        const Lanes &slow = slowdown_[step.rank], &arrives = ready_[step.partner];
        Lanes end{};
        for (std::size_t l = 0; l < layouts_.size(); ++l) {
            const MessageCost &c = cost(l, step.peer, step.rank, step.message());
            const double begin = std::max({ready_[op][l], arrives[l], cpu[l]});
            const double idle =
                std::max(0.0, begin - std::max(arrives[l] - static_cast<double>(c.span), cpu[l]));
            const double bytes = std::max(0.0, static_cast<double>(c.on_core) - idle);
            cpu[l] = end[l] = begin + (static_cast<double>(c.o_receive) + bytes) * slow[l];
        }
        finish(op, end);
    }

    void finish(std::uint32_t op, const Lanes &end) {
        for (std::size_t l = 0; l < width; ++l)
            last_[l] = std::max(last_[l], end[l]);
        const Release release_of_op = steps_[op].release;
        if (release_of_op.count == Release::listed) {
            release(op, end, false);
            return;
        }
        const std::uint32_t first = op + static_cast<std::uint32_t>(release_of_op.distance);
        for (std::uint32_t k = 0; k < release_of_op.count; ++k)
            put_off(first + k, end);
    }
    void release(std::uint32_t op, const Lanes &time, bool at_start) {
        for (std::uint32_t e = schedule_.edge_first[op]; e < schedule_.edge_first[op + 1]; ++e)
            if (schedule_.successors[e].at_start() == at_start)
                put_off(schedule_.successors[e].target(), time);
    }
    void put_off(std::uint32_t op, const Lanes &until) {
        Lanes &ready = ready_[op];
        for (std::size_t l = 0; l < width; ++l)
            ready[l] = std::max(ready[l], until[l]);
    }

    const Schedule &schedule_;
    const LargeArray<Step> &steps_;
    const Machine &machine_;
    std::span<const Layout> layouts_;
    MessageCosts costs_;
    LargeArray<Lanes> ready_;     ///< of each operation, see send() and data()
    LargeArray<Lanes> processor_; ///< when each processor and link of a rank is free
    LargeArray<Lanes> link_;
    LargeArray<Lanes> slowdown_; ///< of each rank
    LargeArray<Lanes> tx_, rx_;  ///< of each node
    Lanes last_{};
};

} // namespace

std::vector<Picoseconds> static_pass(const Schedule &schedule, const LargeArray<Step> &steps,
                                     const ServiceOrder &order, const Machine &machine,
                                     std::span<const Layout> layouts) {
    std::vector<Picoseconds> makespans;
    for (std::size_t begin = 0; begin < layouts.size(); begin += width) {
        const auto some = layouts.subspan(begin, std::min(width, layouts.size() - begin));
        Pass pass(schedule, steps, machine, some);
        pass.run(order);
        for (std::size_t l = 0; l < some.size(); ++l)
            makespans.push_back(pass.makespan(l));
    }
    return makespans;
}

} // namespace rankwise::replay
