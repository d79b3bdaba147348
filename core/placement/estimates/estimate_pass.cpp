// SPDX-License-Identifier: BSD-3-Clause
#include "placement/estimates/estimate_pass.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "placement/estimates/lanes.hpp"
#include "replay/message_costs.hpp"

namespace rankwise::replay {
namespace {

using machine::CoreSharing;
using machine::Machine;
using machine::Placement;

/// @brief What a message of one size costs on each link class; up to as many of these as there are lanes.
///
/// So that all lanes do the same, whatever does not apply is a time of minus infinity to be the larger of.
struct LinkTable {
    Lanes o_send, o_receive, on_core, span, latency;
    Lanes eager_on_core;        ///< B, of an eager message that goes on after its job
    Lanes gap, on_link;         ///< on_link: 0 if the message passes its rank's link
    Lanes tx, rx, on_interface; ///< on_interface: 0 if it passes the interfaces
    // of a rendezvous
    Lanes control, posted; ///< posted: 0 for a rendezvous
    Lanes in_call;         ///< 0 if the answer waits for the sender's processor
    Lanes copies, copy;    ///< B, and 0 if the sender's processor has to do it once the answer is there
    Lanes eager_end, late_end;
};

/// @param[in] from the first of the link classes
LinkTable link_table(const Machine &machine, MessageCosts &costs, std::uint64_t message, std::size_t from) {
    LinkTable table{};
    for (std::size_t link = 0; link < std::min(lanes, machine.link_classes.size() - from); ++link) {
        const MessageCost &c = costs.get(static_cast<std::uint8_t>(from + link), message);
        const auto if_so = [](bool applies, machine::Picoseconds time) {
            return applies ? static_cast<double>(time) : minus_infinity;
        };
        const bool copies = !c.eager && c.on_core > 0;
        table.o_send[link] = static_cast<double>(c.o_send);
        table.o_receive[link] = static_cast<double>(c.o_receive);
        table.on_core[link] = static_cast<double>(c.on_core);
        table.span[link] = static_cast<double>(c.span);
        table.latency[link] = static_cast<double>(c.latency);
        table.eager_on_core[link] = c.eager ? static_cast<double>(c.on_core) : 0;
        table.gap[link] = if_so(c.overlap, c.gap);
        table.on_link[link] = if_so(c.overlap, 0);
        table.tx[link] = static_cast<double>(c.tx);
        table.rx[link] = static_cast<double>(c.rx);
        table.on_interface[link] = if_so(c.network, 0);
        table.control[link] = c.eager ? 0 : static_cast<double>(c.control);
        table.posted[link] = if_so(!c.eager, 0);
        table.in_call[link] = if_so(!c.eager && c.in_call, 0);
        table.copies[link] = if_so(copies, 0);
        table.copy[link] = copies ? static_cast<double>(c.on_core) : 0;
        table.eager_end[link] = if_so(c.eager, c.on_core);
        table.late_end[link] = if_so(!c.eager, c.span);
    }
    return table;
}

/// Of each size in a program.
struct LinkTables {
    LinkTables(const EstimateProgram &program, const Machine &machine)
        : of_size((machine.link_classes.size() + lanes - 1) / lanes) {
        MessageCosts costs(machine);
        for (const std::uint64_t message : program.sizes)
            for (std::size_t t = 0; t < of_size; ++t)
                all.push_back(link_table(machine, costs, message, t * lanes));
        if (machine.striped_over == 1)
            return;
        for (const std::uint64_t message : program.sizes)
            striped.push_back(std::ranges::any_of(machine.link_classes, [&](const machine::LinkClass &link) {
                return machine.stripes(link, message & Operation::size_mask);
            }));
    }
    std::size_t of_size;
    LargeArray<LinkTable> all;
    std::vector<bool>
        striped; ///< of each size: over the network it passes several interfaces; empty: none does
};

/// What a message costs in each lane. `Many`: there are more link classes than lanes, or messages pass
/// several interfaces of their nodes, or both.
template <bool Many> struct LaneCosts {
    static constexpr bool many = Many;

    const LinkTable *tables; ///< as many as it takes for all link classes
    std::size_t count;
    LaneNumbers link;

    RANKWISE_INLINE Lanes operator()(Lanes LinkTable::*field) const {
        Lanes picked = pick(tables[0].*field, link);
        if constexpr (Many)
            for (std::size_t t = 1; t < count; ++t)
                picked = link >= static_cast<std::int64_t>(t * lanes) ? pick(tables[t].*field, link) : picked;
        return picked;
    }
};

/// Two ranks that exchange messages, under each of the placements.
struct Pair {
    LaneBytes link;
    std::uint32_t from, to;
    bool network; ///< in some of them over the network
};

/// @brief Who serves one thing after the other, but not always in the order in which things come: what comes
/// before a time that it was idle at is served then.
///
/// Of idle times it knows when the last one ended, and how much there was, older ones counting half.
struct Server {
    Lanes free{};               ///< done with everything
    Lanes idle{}, idle_until{}; ///< idle time, all of it before `idle_until`

    /// Only larger and smaller of two: other choices a compiler may work out lane by lane.
    /// @return when it begins; what comes at minus infinity and takes no time changes nothing
    RANKWISE_INLINE Lanes serve(const Lanes &comes, const Lanes &time) {
        constexpr double if_any = 1e18; // makes any time later than everything, and leaves none none
        const Lanes left = larger(Lanes{}, idle_until - comes), usable = smaller(idle, left);
        const Lanes used = smaller(usable, time), gap = larger(Lanes{}, comes - free);
        const Lanes need = larger(time, all(1)), missing = need - smaller(usable, need);
        const Lanes begins = smaller(larger(comes, free) - used, comes + missing * if_any);
        idle += gap - used - smaller(idle * 0.5, gap * if_any);
        idle_until = larger(idle_until, smaller(comes, idle_until + gap * if_any));
        free = larger(free, begins + time);
        return begins;
    }
};

/// A Server in one lane.
struct Interface {
    double free = 0, idle = 0, idle_until = 0;
    double unused = 0; ///< makes it half a cache line
};
using LaneIndex = std::array<std::uint32_t, lanes>;

/// One pass for up to `lanes` placements.
class Pass {
  public:
    Pass(const EstimateProgram &program, const Machine &machine, const LinkTables &tables,
         std::span<const Placement> placements)
        : program_(program), tables_(tables), cells_(program.cells),
          processor_(std::size_t{program.ranks} * program.cpus),
          link_(std::size_t{program.ranks} * program.nics), interface_(program.ranks), machine_(machine),
          handshake_(machine.handshake) {
        std::uint32_t nodes = 0;
        for (const Placement &placement : placements)
            nodes = std::max(nodes, placement.nodes());
        tx_.resize(std::size_t{nodes} * machine.interfaces * lanes);
        rx_.resize(tx_.size());
        find_pairs(machine, placements);
        for (std::size_t l = 0; l < lanes; ++l) {
            const Placement &placement = placements[std::min(l, placements.size() - 1)];
            const std::vector<std::uint32_t> &interfaces = placement.interfaces();
            for (std::uint32_t r = 0; r < program.ranks; ++r)
                interface_[r][l] = static_cast<std::uint32_t>(interfaces[r] * lanes + l);
            if (machine.core_sharing != CoreSharing::none)
                find_slowdown(placement, l);
        }
    }

    /// The lanes are as wide as the instructions of whoever calls this.
    RANKWISE_INLINE void run() {
        if (tables_.of_size > 1 || !tables_.striped.empty()) {
            if (slowdown_.empty())
                slowdown_.assign(processor_.size(), all(1));
            run<true, true>();
        } else if (slowdown_.empty())
            run<false, false>();
        else
            run<true, false>();
        for (const Server &processor : processor_)
            last_ = larger(last_, processor.free);
    }

    Picoseconds makespan(std::size_t lane) const {
        return static_cast<Picoseconds>(std::llround(last_[lane]));
    }

  private:
    static constexpr std::ptrdiff_t ahead = 8;

    template <bool Shared, bool Many> RANKWISE_INLINE void run() {
        const Instruction *const end = program_.instructions.data() + program_.instructions.size();
        for (const Instruction *at = program_.instructions.data(); at != end; ++at) {
            if (end - at > ahead)
                fetch(at[ahead]);
            switch (at->what) {
            case Instruction::eager:
                eager<Shared>(*at, costs<Many>(*at));
                break;
            case Instruction::receive:
                receive<Shared, false>(*at, costs<Many>(*at));
                break;
            case Instruction::compute:
                compute<Shared>(*at);
                break;
            case Instruction::receive_bytes:
                receive<Shared, true>(*at, costs<Many>(*at));
                break;
            case Instruction::send:
                send<Shared>(*at, costs<Many>(*at));
                break;
            case Instruction::data:
                data(*at, costs<Many>(*at));
                break;
            case Instruction::begin:
                push(*at, larger(cells_[at->ready], processor_[at->processor].free));
                break;
            case Instruction::post:
                push(*at, cells_[at->ready]);
            }
        }
    }

    void find_pairs(const Machine &machine, std::span<const Placement> placements) {
        pairs_.resize(program_.pairs.size());
        for (std::size_t k = 0; k < pairs_.size(); ++k) {
            Pair &pair = pairs_[k];
            std::tie(pair.from, pair.to) = program_.pairs[k];
            for (std::size_t l = 0; l < lanes; ++l) {
                const Placement &placement = placements[std::min(l, placements.size() - 1)];
                const std::uint8_t link = placement.link(pair.from, pair.to);
                pair.link[l] = link;
                pair.network |= machine.link_classes[link].network;
                if (machine.network.hop != 0 && machine.link_classes[link].network) {
                    hops_.resize(pairs_.size());
                    hops_[k][l] =
                        static_cast<double>(hop_time(machine.network, placement, pair.from, pair.to));
                }
            }
        }
    }

    /// Ranks on one core: each takes as many times as long as there are ranks for one core.
    void find_slowdown(const Placement &placement, std::size_t lane) {
        std::vector<std::uint32_t> users(placement.capacity.size());
        for (const std::uint32_t processor : placement.processor)
            ++users[processor];
        for (std::uint32_t r = 0; r < program_.ranks; ++r) {
            const std::uint32_t processor = placement.processor[r];
            if (users[processor] <= placement.capacity[processor])
                continue;
            if (slowdown_.empty())
                slowdown_.assign(processor_.size(), all(1));
            for (std::uint32_t cpu = 0; cpu < program_.cpus; ++cpu)
                slowdown_[r * program_.cpus + cpu][lane] =
                    static_cast<double>(users[processor]) / placement.capacity[processor];
        }
    }

    void fetch(const Instruction &next) const {
        __builtin_prefetch(&processor_[next.processor], 1);
        __builtin_prefetch(&cells_[next.ready], 1);
        if (next.what == Instruction::compute)
            return;
        __builtin_prefetch(&pairs_[next.message.pair]);
        __builtin_prefetch(&link_[next.message.link], 1);
    }

    template <bool Shared> RANKWISE_INLINE Lanes slowed(const Lanes &time, std::uint32_t processor) const {
        if constexpr (Shared)
            return time * slowdown_[processor];
        else
            return time;
    }

    RANKWISE_INLINE void push(const Instruction &by, const Lanes &time) {
        if (by.many) {
            const std::uint32_t *const list = program_.lists.data() + by.out;
            for (std::uint32_t k = 1; k <= list[0]; ++k)
                put_off(list[k] >> 1, (list[k] & 1) != 0, time);
        } else if (by.out != Instruction::nothing) {
            put_off(by.out, by.first, time);
        }
    }
    RANKWISE_INLINE void put_off(std::uint32_t cell, bool first, const Lanes &until) {
        cells_[cell] = first ? until : larger(cells_[cell], until);
    }

    template <bool Shared> RANKWISE_INLINE void compute(const Instruction &i) {
        const Lanes time = slowed<Shared>(all(i.time), i.processor);
        push(i, processor_[i.processor].serve(cells_[i.ready], time) + time);
    }

    template <bool Many> RANKWISE_INLINE LaneCosts<Many> costs(const Instruction &i) const {
        return {tables_.all.data() + i.cost * tables_.of_size, tables_.of_size,
                __builtin_convertvector(pairs_[i.message.pair].link, LaneNumbers)};
    }

    /// @param[in] applies minus infinity where the message does not pass the interface, else 0
    /// @return when the interface begins with what comes
    RANKWISE_INLINE static Lanes pass_interface(LargeArray<Interface> &interfaces, const LaneIndex &of,
                                                const Lanes &comes, const Lanes &time, const Lanes &applies) {
        Server server;
        for (std::size_t l = 0; l < lanes; ++l) {
            const Interface &interface = interfaces[of[l]];
            server.free[l] = interface.free;
            server.idle[l] = interface.idle;
            server.idle_until[l] = interface.idle_until;
        }
        const Lanes begins = server.serve(comes + applies, time);
        for (std::size_t l = 0; l < lanes; ++l)
            interfaces[of[l]] = {server.free[l], server.idle[l], server.idle_until[l], 0};
        return larger(begins, comes);
    }

    /// @param[in,out] leaves when the first byte would leave, then when it does
    /// @return when the last byte is at the receiver
    template <class Costs>
    RANKWISE_INLINE Lanes travel(const Instruction &i, const Costs &cost, Lanes &leaves) {
        Lanes &link = link_[i.message.link];
        leaves = larger(leaves, link + cost(&LinkTable::on_link));
        link = larger(link, leaves + cost(&LinkTable::gap));
        const Pair &pair = pairs_[i.message.pair];
        if (!pair.network)
            return leaves + cost(&LinkTable::latency) + cost(&LinkTable::span);
        const auto &from = interface_[pair.from], &to = interface_[pair.to];
        const Lanes applies = cost(&LinkTable::on_interface);
        if constexpr (Costs::many)
            if (!tables_.striped.empty() && tables_.striped[i.cost])
                return travel_striped(i, cost, applies, leaves);
        leaves = pass_interface(tx_, from, leaves, cost(&LinkTable::tx), applies);
        Lanes first = leaves + cost(&LinkTable::latency);
        if (!hops_.empty())
            first += hops_[i.message.pair];
        const Lanes rx = cost(&LinkTable::rx);
        return larger(first + cost(&LinkTable::span), pass_interface(rx_, to, first, rx, applies) + rx);
    }

    /// As `travel`, over several interfaces at once.
    template <class Costs>
    RANKWISE_INLINE Lanes travel_striped(const Instruction &i, const Costs &cost, const Lanes &applies,
                                         Lanes &leaves) {
        const Pair &pair = pairs_[i.message.pair];
        const Lanes comes = leaves, rx = cost(&LinkTable::rx);
        Lanes there = all(minus_infinity);
        for (std::uint32_t k = 0; k < machine_.striped_over; ++k) {
            LaneIndex from, to;
            for (std::size_t l = 0; l < lanes; ++l) {
                from[l] = of_part(interface_[pair.from][l], k);
                to[l] = of_part(interface_[pair.to][l], k);
            }
            const Lanes begins = pass_interface(tx_, from, comes, cost(&LinkTable::tx), applies);
            Lanes first = begins + cost(&LinkTable::latency);
            if (!hops_.empty())
                first += hops_[i.message.pair];
            there = larger(there, larger(first + cost(&LinkTable::span),
                                         pass_interface(rx_, to, first, rx, applies) + rx));
            leaves = larger(leaves, begins);
        }
        return there;
    }
    /// @return of the interface that a part passes, in the same lane
    std::uint32_t of_part(std::uint32_t place, std::uint32_t part) const {
        const auto width = static_cast<std::uint32_t>(lanes);
        return machine_.interface_of_part(place / width, part) * width + place % width;
    }

    template <bool Shared, class Costs> RANKWISE_INLINE void eager(const Instruction &i, const Costs &cost) {
        const Lanes o = slowed<Shared>(cost(&LinkTable::o_send), i.processor);
        const Lanes bytes = slowed<Shared>(cost(&LinkTable::eager_on_core), i.processor);
        Lanes leaves = processor_[i.processor].serve(cells_[i.ready], o + bytes) + o;
        const Lanes end = leaves + bytes;
        cells_[i.value] = travel(i, cost, leaves);
        push(i, end);
    }

    /// The cell of the message becomes when the processor has done o.
    template <bool Shared, class Costs> RANKWISE_INLINE void send(const Instruction &i, const Costs &cost) {
        const Lanes o = slowed<Shared>(cost(&LinkTable::o_send), i.processor);
        const Lanes bytes = slowed<Shared>(cost(&LinkTable::eager_on_core), i.processor);
        cells_[i.value] = processor_[i.processor].serve(cells_[i.ready], o + bytes) + o;
    }

    template <class Costs> RANKWISE_INLINE void data(const Instruction &i, const Costs &cost) {
        Lanes &cpu = processor_[i.processor].free;
        const Lanes done = cells_[i.value], posted = cost(&LinkTable::posted);
        Lanes control = cost(&LinkTable::control);
        if (handshake_ && !hops_.empty())
            control += larger(Lanes{}, hops_[i.message.pair] + posted);
        Lanes leaves = larger(done + control, cells_[i.ready] + posted) + control;
        leaves = larger(leaves, cpu + cost(&LinkTable::in_call));
        const Lanes copies = cost(&LinkTable::copies);
        cpu = larger(cpu, leaves + copies) + cost(&LinkTable::copy);
        const Lanes copied = cpu + copies;
        cells_[i.value] = travel(i, cost, leaves);
        const Lanes end =
            larger(larger(done + cost(&LinkTable::eager_end), copied), leaves + cost(&LinkTable::late_end));
        last_ = larger(last_, end);
        push(i, end);
    }

    template <bool Shared, bool Bytes, class Costs>
    RANKWISE_INLINE void receive(const Instruction &i, const Costs &cost) {
        Server &processor = processor_[i.processor];
        const Lanes arrives = cells_[i.value], can_begin = larger(cells_[i.ready], arrives);
        Lanes busy = cost(&LinkTable::o_receive);
        if constexpr (Bytes) {
            const Lanes idle = larger(Lanes{}, larger(can_begin, processor.free) -
                                                   larger(arrives - cost(&LinkTable::span), processor.free));
            busy += larger(Lanes{}, cost(&LinkTable::on_core) - idle);
        }
        busy = slowed<Shared>(busy, i.processor);
        push(i, processor.serve(can_begin, busy) + busy);
    }

    const EstimateProgram &program_;
    const LinkTables &tables_;
    LargeArray<Lanes> cells_;
    LargeArray<Server> processor_;
    LargeArray<Lanes> link_;          ///< when each link of a rank is free
    LargeArray<Lanes> slowdown_;      ///< of each processor; empty if all are as fast as can be
    LargeArray<LaneIndex> interface_; ///< of each rank: where its interface is in tx_ and rx_
    LargeArray<Interface> tx_, rx_;   ///< of each node's interfaces, lane after lane
    LargeArray<Pair> pairs_;
    LargeArray<Lanes>
        hops_; ///< of each pair: latency of the switches after the first; empty if there is none
    const Machine &machine_;
    const bool handshake_;
    Lanes last_{};
};

void run_portable(Pass &pass) {
    pass.run();
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) void run_avx512(Pass &pass) {
    pass.run();
}
__attribute__((target("avx2"))) void run_avx2(Pass &pass) {
    pass.run();
}

void run(Pass &pass) {
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        run_avx512(pass);
    else if (__builtin_cpu_supports("avx2"))
        run_avx2(pass);
    else
        run_portable(pass);
}
#else
void run(Pass &pass) {
    run_portable(pass);
}
#endif

} // namespace

std::vector<Picoseconds> estimate_pass(const EstimateProgram &program, const Machine &machine,
                                       std::span<const Placement> placements) {
    const LinkTables tables(program, machine);
    std::vector<Picoseconds> makespans;
    for (std::size_t begin = 0; begin < placements.size(); begin += lanes) {
        const auto some = placements.subspan(begin, std::min(lanes, placements.size() - begin));
        Pass pass(program, machine, tables, some);
        run(pass);
        for (std::size_t l = 0; l < some.size(); ++l)
            makespans.push_back(pass.makespan(l));
    }
    return makespans;
}

} // namespace rankwise::replay
