// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "large_array.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/deadlock.hpp"
#include "replay/message_costs.hpp"
#include "replay/progress.hpp"
#include "replay/queues/event.hpp"
#include "replay/queues/node_events.hpp"
#include "replay/queues/radix_queue.hpp"
#include "replay/queues/windows.hpp"
#include "replay/replay_case.hpp"
#include "replay/resources/resources.hpp"

namespace rankwise::replay {

/// What the processor does for an operation; one job of an operation is under way at a time.
enum class Job : std::uint8_t { none, calc, send, send_bytes, clear, data, receive, receive_bytes };

/// Bits of a message beside those of Progress: the first two at its receive, the others at its send.
enum : std::uint32_t {
    is_requested = 1u << Progress::own_shift,
    is_arrived = 2u << Progress::own_shift,
    has_left = 1u << Progress::own_shift,
    core_is_done = 2u << Progress::own_shift,
    is_taken_up = 4u << Progress::own_shift ///< of both: in a look of a computation
};
inline constexpr unsigned job_shift = Progress::own_shift + 3;

/// A processor of a rank, one job after the other in the order in which they became ready, and the link of
/// the same number. All that is looked at for most events, in one cache line.
struct alignas(64) Processor {
    List ready;
    std::uint32_t running = any;
    std::uint32_t slot = 0; ///< of the rank among all, those of a queue one after the other
    List on_link;           ///< sends that wait for the link, where ranks are served one by one
    Picoseconds idle_since = 0;
    Picoseconds link = 0; ///< when the link is free
    Picoseconds overhead = 0, computation = 0;
    Picoseconds finish = 0; ///< of the rank (at its first processor)
};
static_assert(sizeof(Processor) == 64);

/// When something happens to a rank next, where ranks are served one by one.
struct RankNext {
    Picoseconds job_end = machine::never;   ///< of the job under way
    Picoseconds link_free = machine::never; ///< for the first message that waits for the link
};

/// A computation in several parts that a processor is at: it goes on, or stands still after a look.
struct Looks {
    std::uint32_t op = any;
    std::uint32_t open = 0; ///< messages that were taken up meanwhile and have not ended
    Picoseconds started = 0, left = 0, part = 0;
    bool stops = false; ///< at the next look
};

/// What holds up the last byte of a receive's message: its way, and the job that copies it.
struct LastByte {
    Picoseconds through_rx = 0;
    bool is_through_rx = false; ///< and comes to the interrupt core
    bool one_is_over = false;
};

/// @brief What a replay keeps of each operation; threads touch what is of their own queues' ranks.
struct OperationStates {
    OperationStates(const Case &of_case, bool by_time);

    LargeArray<OperationState> progress;
    LargeArray<Picoseconds> first_byte;    ///< of the message of a receive; empty if no core moves bytes
    LargeArray<double> idle_at_first_byte; ///< capacity of the receiver's core; empty if no core is shared
    LargeArray<LastByte> last_byte;        ///< of each receive; empty if nothing slows a job that copies
};

inline OperationStates::OperationStates(const Case &of_case, bool by_time)
    : progress(states_at_begin(of_case.schedule)) {
    const machine::Machine &machine = of_case.machine;
    const std::size_t operations = of_case.steps.size();
    bool core_moves_bytes = false, core_sends_bytes = false, interrupts = false;
    for (const machine::LinkClass &link : machine.link_classes) {
        interrupts |= link.interrupts;
        for (const machine::Segment &segment : link.segments)
            if (link.core_per_byte(segment) > 0) {
                core_moves_bytes = true;
                core_sends_bytes |= !link.overlap;
            }
    }
    if (core_moves_bytes)
        first_byte.resize(operations);
    if (!by_time)
        return;
    const bool cores_are_shared = machine.core_sharing != machine::CoreSharing::none;
    if (core_moves_bytes && cores_are_shared)
        idle_at_first_byte.resize(operations);
    if (interrupts || (core_sends_bytes && (!machine.only_interfaces_and_cores() || cores_are_shared)))
        last_byte.resize(operations);
}

/// How the events of one queue follow each other.
enum class Order {
    by_time, ///< all of them: any machine
    by_rank  ///< of each rank, for as long as ranks of a node do not notice each other: the plain machine
};

/// @brief The machine model of formats/loggops.md as events: one replay, or one thread's part of it.
///
/// There is a queue for each node, or for nodes that share something. The engine serves those that are its
/// own window after window (`Windows`); what goes to a queue of another engine is put aside until the next
/// window. All that an engine keeps of ranks and nodes is its own, so that several together differ from one
/// in nothing but who does the work; `OperationStates` they share.
template <Order order> class Engine {
  public:
    /// @param[in,out] states of all engines of a replay
    /// @param[in] of, number how many engines there are, and which one this is
    Engine(const Case &of_case, OperationStates &states, unsigned number = 0, unsigned of = 1);

    /// @brief What is ready at the beginning goes on.
    void start();

    // Windows: engine_windows.hpp

    /// @return when this engine has something to do for itself or for others, the end of time if it has not
    Picoseconds earliest();
    /// @brief Do all that happens in the window from `begin`, the earliest of all engines, on.
    /// @param[in] all engines of the replay
    void serve_window(Picoseconds begin, std::span<const std::unique_ptr<Engine>> all);

    // At the end or a standstill: engine_windows.hpp

    std::size_t ended_count() const noexcept { return progress_.ended_count(); }
    Picoseconds now() const noexcept { return latest_; } ///< of the last that happened
    bool serves(std::uint32_t rank) const { return owner_of(queue_of(rank)) == number_; }
    /// @brief Sends of this engine's ranks end although their receives are not there.
    void end_sends(std::vector<std::uint32_t> sends, Picoseconds now);
    /// What a message operation waits for if it does not end.
    OtherEnd other_end() const;
    Standstills &standstills() noexcept { return standstills_; }
    /// @brief Add what happened on this engine's ranks and nodes.
    void add_to(Prediction &result) const;

  private:
    static constexpr bool by_time = order == Order::by_time;
    using Events = std::conditional_t<by_time, EventQueue, NodeEvents>;

    // What belongs to whom. What is called for nearly every event is inlined: there are many callers.

    bool passes_rx_early() const noexcept { return !by_time || ahead_.passing > 0; }
    bool in_one_queue() const noexcept { return by_time && in_one_queue_; }
    std::uint32_t queue_of(std::uint32_t rank) const { return queue_of_rank_[rank]; }
    unsigned owner_of(std::uint32_t queue) const {
        return static_cast<unsigned>(std::uint64_t{queue} * engines_ / ahead_.queues);
    }
    std::uint32_t lanes() const noexcept { return by_time ? lanes_ : 1; }
    std::uint32_t processor_of(std::uint32_t op) const {
        return steps_[op].rank * lanes() + (by_time ? steps_[op].lane.cpu : 0);
    }
    /// What decides between jobs that end at one time: the order of their operations, which is that of ranks
    /// and, where each has one processor, of these.
    std::uint32_t key_of_job(std::uint32_t processor, std::uint32_t op) const {
        return cpus_ == 1 ? processor : op;
    }
    Processor &first_processor(std::uint32_t rank) { return processors_[std::size_t{rank} * lanes()]; }
    Job job(std::uint32_t op) const { return static_cast<Job>(progress_.bits(op) >> job_shift); }
    void set_job(std::uint32_t op, Job job);
    [[gnu::always_inline]] inline const MessageCost &cost_of_send(std::uint32_t send);
    [[gnu::always_inline]] inline const MessageCost &cost_of_receive(std::uint32_t receive);
    template <class Call> void tell(const Call &call) const {
        if constexpr (by_time)
            if (observer_ != nullptr)
                call(*observer_);
    }

    // Events: engine_windows.hpp

    /// @param[in] number what decides between events of one time and phase: an operation, or of which phase
    /// that is
    void at(Picoseconds time, Phase phase, std::uint32_t number, std::uint32_t what);
    /// @brief As `at`, for what another rank notices.
    void at_rank(std::uint32_t rank, Picoseconds time, Phase phase, std::uint32_t op, std::uint32_t what);
    void serve(const Event &event);
    void serve_queue(std::uint32_t queue);
    void take_arrivals(Events &events);
    template <class Queue> void serve_by_time(Queue &events, Picoseconds end);
    std::uint32_t operation_of(const Event &event) const;
    void serve_by_rank(Picoseconds end);
    Picoseconds next_of_ranks(std::uint32_t queue) const;
    void take_from(std::span<const std::unique_ptr<Engine>> all);
    void leave_queues();
    void fetch(std::span<const std::uint32_t> due, std::size_t k) const;
    void fetch(const Event &event) const;

    static constexpr std::size_t fetch_steps = 4; ///< before a queue is served, the first of a window too

    void check_size() const;
    void read_on();
    void renumber(const TraceWindow::Change &change);
    bool is_under_way(std::uint32_t send);

    // Order of a rank's operations: engine_jobs.hpp

    [[gnu::always_inline]] inline void begin(std::uint32_t op);
    [[gnu::always_inline]] inline void end(std::uint32_t op);
    void release();
    [[gnu::always_inline]] inline void go_on(std::uint32_t op, Kind kind);

    // Processors, each one job after the other: engine_jobs.hpp

    [[gnu::always_inline]] inline void queue_job(std::uint32_t op, Job job);
    void start_job(std::uint32_t processor, std::uint32_t op, Job job);
    Picoseconds time_of_job(std::uint32_t op, Job job, Processor &p);
    Picoseconds time_of_receive(std::uint32_t op, Processor &p);
    [[gnu::always_inline]] inline Picoseconds connect(std::uint32_t op, const MessageCost &cost);
    void run_for(std::uint32_t processor, Picoseconds work);
    void end_jobs(std::uint32_t rank, Picoseconds before);
    void end_job(std::uint32_t processor);
    void account(std::uint32_t processor);
    void next_job(std::uint32_t processor);

    // Computations in several parts: engine_looks.hpp

    void know_looks(std::uint32_t processor, std::uint32_t op, Job job);
    void stop_at_look(std::uint32_t processor);
    bool has_stopped(std::uint32_t processor);
    void close(std::uint32_t op);
    void resume();
    bool has_what_it_watched(std::uint32_t op) const;
    Picoseconds rest_of(std::uint32_t op, Picoseconds left) const;
    Picoseconds time_of_computation(std::uint32_t op) const;
    bool is_outdated(std::uint32_t processor) const;
    void end_eager(std::uint32_t send);
    void finish_send(std::uint32_t send, std::uint32_t part);
    bool has_left_entirely(std::uint32_t send) const;

    // Messages, from the request of a rendezvous to the last byte: engine_messages.hpp

    void request(std::uint32_t receive);
    void clear_to_send(std::uint32_t receive);
    void answer(std::uint32_t receive);
    void clear(std::uint32_t send);
    Picoseconds control_time(std::uint32_t send, const MessageCost &cost) const;
    void enter_link(std::uint32_t send, const MessageCost &cost);
    void wait_for_link(std::uint32_t send, Picoseconds start);
    void free_link(std::uint32_t rank, Picoseconds before);
    [[gnu::always_inline]] inline void leave_link(std::uint32_t send, const MessageCost &cost);
    void enter_tx(std::uint32_t send, const MessageCost &cost);
    void send_off();
    void enter_rx(const Event &event, std::uint32_t size_class);
    void leave_rx(std::uint32_t send, std::uint32_t receive, const MessageCost &cost, Picoseconds start,
                  Picoseconds last_byte);
    void interrupt(std::uint32_t send, std::uint32_t receive, const MessageCost &cost);
    InterruptCores::Job interrupt_for(std::uint32_t receive, std::uint64_t bytes, bool first);
    void rest(std::uint32_t core);
    void know_first_byte(std::uint32_t receive, Picoseconds time);
    Picoseconds done_while_idle(std::uint32_t receive, Picoseconds bytes, Picoseconds idle);
    bool leaves_with_job(std::uint32_t sender, const MessageCost &cost) const;
    void last_byte_arrives(std::uint32_t receive);
    void arrive(std::uint32_t receive);
    void post(std::uint32_t receive);

    // Messages in parts, by switch ports, over several interfaces and through buffers: engine_parts.hpp

    bool serve_part(Phase phase, std::uint32_t send, std::uint32_t what);
    void begin_way(std::uint32_t send, const MessageCost &cost);
    void hand_over(Flow &flow, const MessageCost &cost);
    void part_leaves(std::uint32_t send);
    void part_enters(std::uint32_t send, std::uint32_t stage);
    void stripes_leave(Flow &flow, const MessageCost &cost);
    void stripe_enters_rx(Flow &flow, const MessageCost &cost, std::uint32_t k);
    void fill_buffers(std::uint32_t connection, std::uint32_t after = any);
    const machine::LinkClass &link_of(const MessageCost &cost) const {
        return machine_.link_classes[cost.link];
    }
    bool is_computing(std::uint32_t processor) const;
    void come_back(std::uint32_t processor, std::uint32_t after);
    void part_arrives(std::uint32_t send, std::uint32_t receive);
    bool read_part(std::uint32_t processor);
    bool can_read(const MessagePaths::Part &part);
    bool has_read(std::uint32_t processor);
    void give_parts(std::uint32_t receive);

    const Schedule &schedule_;
    const LargeArray<MatchedOperation> &steps_;
    const machine::Machine &machine_;
    const machine::Placement &placement_;
    const Lookahead &ahead_;
    Observer *const observer_;
    TraceWindow *const window_;
    const unsigned number_, engines_;
    const bool in_one_queue_, is_plain_;
    const std::uint32_t cpus_, lanes_; ///< of a rank: processors, and processors or links

    OperationStates &states_;
    Progress progress_;
    Standstills standstills_;
    CostTable costs_;
    LargeArray<Processor> processors_;
    [[no_unique_address]] std::conditional_t<by_time, Resources, NoResources> resources_;
    Interfaces interfaces_;
    Contacts contacts_;
    std::vector<ChannelLoad> channels_;

    std::vector<Looks> looks_;            ///< of each processor; empty if no computation has several parts
    std::vector<std::uint32_t> resuming_; ///< processors whose computation may go on
    std::vector<RankNext> nexts_;         ///< of each slot
    std::vector<std::uint32_t> rank_at_;  ///< of each slot
    std::vector<std::uint32_t> queue_of_rank_;
    std::vector<std::uint32_t> queue_first_; ///< queue q has the slots queue_first_[q] .. queue_first_[q + 1]

    Windows<Events> windows_;
    RadixQueue only_queue_; ///< instead of `windows_` if there is one queue
    struct Sent {
        std::uint32_t queue;
        Arrival event;
    };
    std::vector<std::vector<Sent>> sent_[2]; ///< to queues of each engine, in this window and the one before
    unsigned parity_ = 0;                    ///< of this window
    Picoseconds sent_next_ = machine::never; ///< the earliest that was sent in it

    std::vector<Event> events_;               ///< of ranks that are served one by one
    std::size_t events_served_ = 0;           ///< of them
    std::vector<Event> to_tx_;                ///< messages that the link is free for, in no order
    std::vector<std::uint32_t> releasing_;    ///< see `release`
    std::vector<std::uint32_t> to_end_;       ///< see `end_sends`, the first one last
    std::uint32_t queue_ = 0;                 ///< that is served
    std::uint32_t served_ = 0;                ///< order of what is being served
    std::vector<std::uint8_t> window_states_; ///< see `read_on`
    std::uint64_t ended_sends_ = 0;           ///< without their receives
    Picoseconds now_ = 0, latest_ = 0;
};

} // namespace rankwise::replay
