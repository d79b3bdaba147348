// SPDX-License-Identifier: BSD-3-Clause
#include "replay/machine_replay.hpp"

#include <algorithm>
#include <tuple>

#include "replay/deadlock.hpp"
#include "replay/event_queue.hpp"
#include "replay/loggops.hpp"
#include "replay/shared_core.hpp"

namespace rankwise::replay {
namespace {

using machine::CoreSharing;
using machine::Interface;
using machine::Layout;
using machine::LinkClass;
using machine::Machine;
using machine::Segment;

/// What happens, in the order in which it is served if it happens at one time.
enum Phase : std::uint32_t {
    data_arrives,    // last byte of a message is at its receiver's node
    enters_rx,       // first byte reaches the interface of the receiver's node
    request_arrives, // of a rendezvous, at the receiver
    clear_arrives,   // of a rendezvous, back at the sender
    data_left,       // last byte of a rendezvous has left its sender
    enters_link,     // first byte leaves its rank, when the rank's link is free
    job_ends,
    core_ends // of a shared core: one of its jobs ends
};
constexpr std::uint32_t phase_shift = 28;
constexpr std::uint32_t index_mask = (1u << phase_shift) - 1;

/// What the processor does for an operation; one job of an operation is under way at a time.
enum class Job : std::uint8_t { none, calc, send, send_bytes, clear, data, receive };

struct List {
    std::uint32_t head = any, tail = any;
    bool empty() const { return head == any; }
};

/// A processor of a rank: one job after the other, in the order in which they became ready.
struct Processor {
    List ready;
    std::uint32_t running = any;
    Picoseconds started = 0, work = 0;
    Picoseconds idle_since = 0;
};

/// Flags of a message, at its send.
enum : std::uint8_t { is_requested = 1, is_arrived = 2, has_left = 4, core_is_done = 8 };

class Engine {
  public:
    Engine(const Schedule &schedule, const std::vector<std::uint32_t> &partner, const Machine &machine,
           const Layout &layout)
        : schedule_(schedule), partner_(partner), machine_(machine), layout_(layout), cpus_(schedule.cpus),
          nics_(schedule.nics), processors_(schedule.ranks() * cpus_), links_(schedule.ranks() * nics_),
          tx_(layout.nodes()), rx_(layout.nodes()), next_(partner.size(), any), left_(schedule.waits_for),
          begun_(partner.size()), done_(partner.size()), job_(partner.size()), message_(partner.size()),
          link_(partner.size()), first_byte_(partner.size()), last_byte_(partner.size()),
          rank_(partner.size()), unfinished_(schedule.ranks()) {
        if (partner.size() >= index_mask)
            throw Error("the schedule has `" + std::to_string(partner.size()) +
                            "` operations, more than 2^28",
                        "replay fewer ranks or fewer steps");
        result_.ranks.resize(schedule.ranks());
        result_.tx.resize(layout.nodes());
        result_.rx.resize(layout.nodes());
        result_.channels.resize(machine.link_classes.size());
        for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
            std::fill(rank_.begin() + schedule.first[r], rank_.begin() + schedule.first[r + 1], r);
            unfinished_[r] = schedule.first[r + 1] - schedule.first[r];
            for (std::uint32_t op = schedule.first[r]; op < schedule.first[r + 1]; ++op)
                if (operation(op).kind() == Kind::send)
                    link_[op] = layout.link(r, operation(op).peer);
        }
        find_shared_cores();
    }

    Prediction run() {
        for (std::uint32_t op = 0; op < left_.size(); ++op)
            if (left_[op] == 0)
                freed_.push_back(op);
        release();
        while (!queue_.empty()) {
            const Event event = queue_.pop();
            now_ = event.time;
            const std::uint32_t index = event.what & index_mask;
            switch (static_cast<Phase>(event.what >> phase_shift)) {
            case data_arrives:
                arrive(index);
                break;
            case enters_rx:
                enter_rx(index);
                break;
            case request_arrives:
                request(index);
                break;
            case clear_arrives:
                clear(index);
                break;
            case data_left:
                finish_send(index, has_left);
                break;
            case enters_link:
                enter_tx(index);
                break;
            case job_ends:
                end_job(processor_of(index));
                break;
            case core_ends:
                end_on_core(index);
                break;
            }
            release();
        }
        if (ended_ < left_.size())
            throw deadlock(schedule_, done_, begun_, partner_);
        finish();
        return std::move(result_);
    }

  private:
    const Operation &operation(std::uint32_t op) const { return schedule_.operations[op]; }
    std::uint32_t processor_of(std::uint32_t op) const { return rank_[op] * cpus_ + schedule_.lane(op).cpu; }
    const LinkClass &link(std::uint32_t send) const { return machine_.link_classes[link_[send]]; }
    bool in_call(const LinkClass &l) const { return machine_.progress && l.in_call; }
    void at(Picoseconds time, Phase phase, std::uint32_t index) {
        const std::uint32_t what = phase << phase_shift | index;
        queue_.push({time, what, what});
    }

    /// One way of a rendezvous' request and answer: a small message's latency, and at most a third of the
    /// whole, so that request, answer and data together take the L that was measured for messages of this
    /// size.
    Picoseconds control(const LinkClass &l, const Segment &s) const {
        return machine_.handshake ? std::min(l.segments.front().L, s.L / 3) : 0;
    }

    void append(List &list, std::uint32_t op) {
        next_[op] = any;
        if (list.empty())
            list.head = op;
        else
            next_[list.tail] = op;
        list.tail = op;
    }
    std::uint32_t take(List &list) {
        const std::uint32_t op = list.head;
        list.head = next_[op];
        return op;
    }

    // Processors
    // ----------------------------------------------------------------------------------------------------

    void find_shared_cores() {
        core_of_.assign(schedule_.ranks(), any);
        if (machine_.core_sharing == CoreSharing::none)
            return;
        std::vector<std::vector<std::uint32_t>> users(layout_.capacity.size());
        for (std::uint32_t r = 0; r < schedule_.ranks(); ++r)
            users[layout_.processor[r]].push_back(r);
        for (std::size_t processor = 0; processor < users.size(); ++processor) {
            const std::vector<std::uint32_t> &ranks = users[processor];
            const std::uint32_t capacity = layout_.capacity[processor];
            if (ranks.size() <= capacity)
                continue;
            for (const std::uint32_t r : ranks)
                core_of_[r] = static_cast<std::uint32_t>(cores_.size());
            cores_.emplace_back(capacity);
            spinning_.push_back(0);
            for (const std::uint32_t r : ranks)
                spinning_.back() += unfinished_[r] > 0;
            if (machine_.core_sharing == CoreSharing::spin)
                cores_.back().set_spinning(0, spinning_.back());
        }
    }

    void queue_job(std::uint32_t op, Job job) {
        job_[op] = job;
        const std::uint32_t processor = processor_of(op);
        append(processors_[processor].ready, op);
        if (processors_[processor].running == any)
            start_next(processor);
    }

    void start_next(std::uint32_t processor) {
        Processor &p = processors_[processor];
        if (p.ready.empty())
            return;
        const std::uint32_t op = take(p.ready);
        p.running = op;
        const Picoseconds work = start_job(op, p);
        run_for(processor, work);
    }

    void run_for(std::uint32_t processor, Picoseconds work) {
        Processor &p = processors_[processor];
        p.started = now_;
        p.work = work;
        const std::uint32_t core = processor % cpus_ == 0 ? core_of_[processor / cpus_] : any;
        if (core == any) {
            at(now_ + work, job_ends, p.running);
            return;
        }
        cores_[core].start(now_, processor, work);
        watch(core);
    }

    void watch(std::uint32_t core) {
        const Picoseconds end = cores_[core].next_end(now_);
        if (end == cores_[core].expected)
            return;
        cores_[core].expected = end;
        if (end != SharedCore::never)
            at(end, core_ends, core);
    }

    void end_on_core(std::uint32_t core) {
        if (cores_[core].expected != now_)
            return; // jobs came or went since: another event is under way
        const std::uint32_t processor = cores_[core].finish(now_);
        cores_[core].expected = SharedCore::never;
        end_job(processor);
        watch(core);
    }

    /// @return how long the job would take alone
    Picoseconds start_job(std::uint32_t op, const Processor &p) {
        RankTime &time = result_.ranks[rank_[op]];
        switch (job_[op]) {
        case Job::calc:
            begin(op);
            time.computation += operation(op).time();
            return operation(op).time();
        case Job::send:
            return start_send(op);
        case Job::data: {
            if (in_call(link(op)))
                enter_link(op);
            const Picoseconds work = bytes_on_core(op);
            time.overhead += work;
            return work;
        }
        case Job::receive: {
            const std::uint32_t send = partner_[op];
            const Picoseconds o = link(send).segment(operation(send).bytes()).o_receive,
                              bytes = bytes_on_core(send);
            time.overhead += o + bytes;
            // A processor that was idle has dealt with the bytes while they came in.
            const Picoseconds idle =
                std::max<Picoseconds>(0, now_ - std::max(first_byte_[send], p.idle_since));
            return o + std::max<Picoseconds>(0, bytes - idle);
        }
        case Job::clear:
        case Job::send_bytes:
        case Job::none:
            break;
        }
        return 0;
    }

    void end_job(std::uint32_t processor) {
        Processor &p = processors_[processor];
        const std::uint32_t op = p.running;
        result_.ranks[rank_[op]].time_shared += now_ - p.started - p.work;
        p.idle_since = now_;
        if (job_[op] == Job::send && is_eager(op)) {
            enter_link(op);
            const Picoseconds bytes = bytes_on_core(op);
            if (bytes > 0) {
                job_[op] = Job::send_bytes;
                result_.ranks[rank_[op]].overhead += bytes;
                run_for(processor, bytes);
                return;
            }
        }
        p.running = any;
        const Job ended = job_[op];
        job_[op] = Job::none;
        switch (ended) {
        case Job::send:
            if (!is_eager(op)) {
                const LinkClass &l = link(op);
                at(now_ + control(l, l.segment(operation(op).bytes())), request_arrives, op);
                break;
            }
            [[fallthrough]];
        case Job::calc:
        case Job::send_bytes:
        case Job::receive:
            end(op);
            break;
        case Job::clear:
            answer(partner_[op]);
            break;
        case Job::data:
            finish_send(op, core_is_done);
            break;
        case Job::none:
            break;
        }
        if (p.running == any)
            start_next(processor);
    }

    // Messages
    // ------------------------------------------------------------------------------------------------------

    bool is_eager(std::uint32_t send) const { return operation(send).bytes() <= link(send).eager_limit; }

    Picoseconds bytes_on_core(std::uint32_t send) const {
        const LinkClass &l = link(send);
        const std::uint64_t bytes = operation(send).bytes();
        return Segment::per_byte(bytes, l.core_per_byte(l.segment(bytes)));
    }

    Picoseconds start_send(std::uint32_t op) {
        begin(op);
        const LinkClass &l = link(op);
        const std::uint64_t bytes = operation(op).bytes();
        const Segment &s = l.segment(bytes);
        ++result_.channels[link_[op]].messages;
        result_.channels[link_[op]].bytes += bytes;
        result_.ranks[rank_[op]].overhead += s.o_send;
        return s.o_send;
    }

    void request(std::uint32_t send) {
        message_[send] |= is_requested;
        if (begun_[partner_[send]])
            clear_to_send(send);
    }

    /// Request and receive are there: the receiver answers, when it is inside MPI.
    void clear_to_send(std::uint32_t send) {
        if (in_call(link(send)))
            queue_job(partner_[send], Job::clear);
        else
            answer(send);
    }

    void answer(std::uint32_t send) {
        const LinkClass &l = link(send);
        at(now_ + control(l, l.segment(operation(send).bytes())), clear_arrives, send);
    }

    void clear(std::uint32_t send) {
        if (in_call(link(send))) {
            queue_job(send, Job::data);
            return;
        }
        enter_link(send);
        if (bytes_on_core(send) > 0)
            queue_job(send, Job::data);
        else
            finish_send(send, core_is_done);
    }

    /// A rank's messages keep their gap; where the core moves the bytes, it is its own gap.
    void enter_link(std::uint32_t send) {
        const LinkClass &l = link(send);
        if (!l.overlap) {
            enter_tx(send);
            return;
        }
        const std::uint64_t bytes = operation(send).bytes();
        const Segment &s = l.segment(bytes);
        Picoseconds &free = links_[rank_[send] * nics_ + schedule_.lane(send).nic];
        const Picoseconds start = std::max(now_, free);
        free = start + s.g + Segment::per_byte(bytes, s.G);
        if (start > now_)
            at(start, enters_link, send);
        else
            enter_tx(send);
    }

    /// The first byte leaves its rank.
    void enter_tx(std::uint32_t send) {
        const LinkClass &l = link(send);
        const std::uint64_t bytes = operation(send).bytes();
        const Segment &s = l.segment(bytes);
        const Picoseconds latency = is_eager(send) ? s.L : s.L - 2 * control(l, s);
        const Picoseconds on_link = Segment::per_byte(bytes, s.G);
        Picoseconds start = now_, left = now_ + on_link;
        if (l.network && !machine_.tx.free_of_cost()) {
            const std::uint32_t node = layout_.node[rank_[send]];
            start = pass(machine_.tx, tx_[node], result_.tx[node], bytes);
            left = std::max(start + on_link, tx_[node]);
        } else if (l.network) {
            count(result_.tx[layout_.node[rank_[send]]], bytes);
        }
        first_byte_[send] = start + latency;
        last_byte_[send] = left + latency;
        if (l.network)
            at(first_byte_[send], enters_rx, send);
        else
            at(last_byte_[send], data_arrives, send);
        if (!is_eager(send))
            at(left, data_left, send);
    }

    void enter_rx(std::uint32_t send) {
        const std::uint32_t node = layout_.node[operation(send).peer];
        if (machine_.rx.free_of_cost()) {
            count(result_.rx[node], operation(send).bytes());
        } else {
            first_byte_[send] = pass(machine_.rx, rx_[node], result_.rx[node], operation(send).bytes());
            last_byte_[send] = std::max(last_byte_[send], rx_[node]);
        }
        at(last_byte_[send], data_arrives, send);
    }

    static void count(InterfaceLoad &load, std::uint64_t bytes) {
        ++load.messages;
        load.bytes += bytes;
    }

    /// First in, first out. @return when the message begins to pass
    Picoseconds pass(const Interface &interface, Picoseconds &free, InterfaceLoad &load,
                     std::uint64_t bytes) {
        const Picoseconds start = std::max(now_, free), time = interface.time(bytes);
        free = start + time;
        count(load, bytes);
        load.busy += time;
        load.queued += start - now_;
        return start;
    }

    void arrive(std::uint32_t send) {
        message_[send] |= is_arrived;
        if (begun_[partner_[send]])
            queue_job(partner_[send], Job::receive);
    }

    void post(std::uint32_t receive) {
        begin(receive);
        const std::uint32_t send = partner_[receive];
        if (message_[send] & is_arrived)
            queue_job(receive, Job::receive);
        else if (message_[send] & is_requested)
            clear_to_send(send);
    }

    /// A rendezvous send ends when its last byte has left and its processor has done its part.
    void finish_send(std::uint32_t send, std::uint8_t part) {
        message_[send] |= part;
        if ((message_[send] & (has_left | core_is_done)) == (has_left | core_is_done))
            end(send);
    }

    // Order of a rank's operations
    // ----------------------------------------------------------------------------------

    void begin(std::uint32_t op) {
        begun_[op] = true;
        count_down(op, true);
    }

    void end(std::uint32_t op) {
        done_[op] = true;
        ++ended_;
        const std::uint32_t rank = rank_[op];
        result_.ranks[rank].finish = now_;
        count_down(op, false);
        if (--unfinished_[rank] == 0 && core_of_[rank] != any && machine_.core_sharing == CoreSharing::spin) {
            const std::uint32_t core = core_of_[rank];
            cores_[core].set_spinning(now_, --spinning_[core]);
            watch(core);
        }
    }

    void count_down(std::uint32_t op, bool at_start) {
        for (std::uint32_t e = schedule_.edge_first[op]; e < schedule_.edge_first[op + 1]; ++e) {
            const Successor next = schedule_.successors[e];
            if (next.at_start() == at_start && --left_[next.target()] == 0)
                freed_.push_back(next.target());
        }
    }

    /// Operations that became ready together go on by rank, then sends, receives, computations, then by
    /// number.
    void release() {
        while (!freed_.empty()) {
            releasing_.swap(freed_);
            if (releasing_.size() > 1)
                std::sort(releasing_.begin(), releasing_.end(), [&](std::uint32_t a, std::uint32_t b) {
                    const auto key = [&](std::uint32_t op) {
                        return std::tuple(rank_[op], operation(op).kind(), op);
                    };
                    return key(a) < key(b);
                });
            for (const std::uint32_t op : releasing_)
                switch (operation(op).kind()) {
                case Kind::send:
                    queue_job(op, Job::send);
                    break;
                case Kind::receive:
                    post(op);
                    break;
                case Kind::calc:
                    queue_job(op, Job::calc);
                    break;
                }
            releasing_.clear();
        }
    }

    void finish() {
        std::vector<bool> used(processors_.size());
        for (std::uint32_t op = 0; op < left_.size(); ++op)
            used[processor_of(op)] = true;
        for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
            RankTime &time = result_.ranks[r];
            const auto processors =
                std::count(used.begin() + r * cpus_, used.begin() + (r + 1) * cpus_, true);
            time.waiting = std::max<Picoseconds>(processors, 1) * time.finish - time.computation -
                           time.overhead - time.time_shared;
        }
        result_.partner = partner_;
    }

    const Schedule &schedule_;
    const std::vector<std::uint32_t> &partner_;
    const Machine &machine_;
    const Layout &layout_;
    const std::uint32_t cpus_, nics_;
    std::vector<Processor> processors_;
    std::vector<Picoseconds> links_, tx_, rx_; ///< when each is free
    std::vector<std::uint32_t> next_, left_;
    std::vector<std::uint8_t> begun_, done_;
    std::vector<Job> job_;
    std::vector<std::uint8_t> message_;
    std::vector<std::uint8_t> link_;                  ///< link class of each send
    std::vector<Picoseconds> first_byte_, last_byte_; ///< of messages, at the receiver
    std::vector<std::uint32_t> rank_, unfinished_;
    std::vector<std::uint32_t> core_of_; ///< shared core of each rank, `any` if it has its own
    std::vector<SharedCore> cores_;
    std::vector<std::uint32_t> spinning_;
    std::vector<std::uint32_t> freed_, releasing_;
    EventQueue queue_;
    Picoseconds now_ = 0;
    std::size_t ended_ = 0;
    Prediction result_;
};

} // namespace

Prediction replay_on_machine(const Schedule &schedule, const Matching &matching, const Machine &machine,
                             const Layout &layout) {
    if (!schedule.wildcards)
        return Engine(schedule, matching.partner, machine, layout).run();
    const LinkClass &network = machine.link_classes[layout.network_link];
    const Segment &s = network.segments.front();
    const LogGOPS plain{s.L, std::max(s.o_send, s.o_receive), s.g, s.G, s.O, network.eager_limit};
    const std::vector<std::uint32_t> partner = replay_loggops(schedule, matching, plain).partner;
    return Engine(schedule, partner, machine, layout).run();
}

} // namespace rankwise::replay
