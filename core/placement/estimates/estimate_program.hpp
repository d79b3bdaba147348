// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "large_array.hpp"
#include "machine/machine.hpp"
#include "replay/observer.hpp"
#include "schedule/matching.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief What a replay did one after the other, without the times: the order in which an estimate pass goes
/// through a schedule.
///
/// Entries are an operation's number times 4, plus the part.
struct ServiceOrder {
    enum Part : std::uint32_t { job = 0, data = 1, post = 2 };
    static constexpr unsigned part_bits = 2;
    std::vector<std::uint32_t> entries;
};

/// Keeps the order in which things are done.
class OrderObserver : public Observer {
  public:
    explicit OrderObserver(ServiceOrder &to) : order_(to) {}

    void start_job(std::uint32_t, std::uint32_t op, bool is_first, Picoseconds, Picoseconds) override {
        if (is_first)
            add(op, ServiceOrder::job);
    }
    void post(std::uint32_t receive) override { add(receive, ServiceOrder::post); }
    void hand_to_link(std::uint32_t send, Picoseconds, Picoseconds) override {
        add(send, ServiceOrder::data);
    }

  private:
    void add(std::uint32_t op, ServiceOrder::Part part) {
        order_.entries.push_back(op << ServiceOrder::part_bits | part);
    }
    ServiceOrder &order_;
};

/// @brief One thing that an estimate pass does. Times that it reads and writes lie in numbered cells.
struct Instruction {
    enum What : std::uint8_t {
        compute,      ///< a computation
        begin,        ///< tells when a computation or send begins, to what waits for that
        post,         ///< tells when a receive is posted
        eager,        ///< a send that is eager on every link class, up to the message's arrival
        send,         ///< the job of any other send
        data,         ///< its message
        receive,      ///< a receive whose bytes take no processor time
        receive_bytes ///< any other receive
    };
    static constexpr std::uint32_t nothing = ~std::uint32_t{0};

    What what;
    bool many = false;       ///< `out` is a place in EstimateProgram::lists
    bool first = false;      ///< the first that writes to `out`, if it is a cell
    std::uint32_t processor; ///< of all ranks
    std::uint32_t ready;     ///< cell of when it may begin; of `data` when the receive is posted
    std::uint32_t out;       ///< cell of what waits for its end or begin, or `nothing`
    union {
        struct {
            std::uint32_t pair, link; ///< places in EstimateProgram::pairs, and links of all ranks
        } message;
        double time; ///< of `compute`, picoseconds
    };
    std::uint32_t cost;  ///< place in EstimateProgram::sizes
    std::uint32_t value; ///< cell of the message: when the sender has done o, then when it arrives
};
static_assert(sizeof(Instruction) == 32);

/// @brief A schedule in one service order, ready for estimate passes: no operation, edge or cost is looked up
/// any more.
///
/// Operations that wait for the same others share a cell; a cell is used again once all have read it. So what
/// a pass goes through at random stays as small as what is under way at one time.
struct EstimateProgram {
    LargeArray<Instruction> instructions;
    std::vector<std::uint32_t> lists; ///< several cells to write to: how many, then cell * 2 + first
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs; ///< ranks that exchange messages
    std::vector<std::uint64_t> sizes;                           ///< as of `MatchedOperation::message`
    std::uint32_t cells = 0;
    std::uint64_t ended_sends =
        0; ///< sends of the replay, see Prediction; with any there are no instructions
    std::uint32_t ranks = 0, cpus = 1, nics = 1;
};

/// @brief Work out a program.
/// @param[in] steps with partners, also of receives with wildcards
/// @param[in] order of a replay on the machine
EstimateProgram estimate_program(const Schedule &schedule, const LargeArray<MatchedOperation> &steps,
                                 const ServiceOrder &order, const machine::Machine &machine);

} // namespace rankwise::replay
