// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fault.hpp"

namespace rankwise::replay {

/// Time inside the replay: whole picoseconds, so that sums do not depend on their order and ties are ties.
using Picoseconds = std::int64_t;

/// The numbers are GOAL's; operations that become ready together are served in this order.
enum class Kind : std::uint8_t { send = 1, receive = 2, calc = 3 };

/// Any source or any tag of a receive.
inline constexpr std::uint32_t any = 0xffffffffu;

/// One operation of a rank in 16 bytes.
class Operation {
  public:
    /// @param[in] synchronous ends only when its receive has begun, however small (MPI_Ssend)
    static Operation send(std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag,
                          bool synchronous = false) {
        return {Kind::send, (bytes & size_mask) | (synchronous ? synchronous_bit : 0), peer, tag};
    }
    static Operation receive(std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag) {
        return {Kind::receive, bytes, peer, tag};
    }
    /// @param[in] parts   equal ones, after each of which its rank looks for messages; 65535 at most
    /// @param[in] watched how many operations of its rank before it is the one that it looks for; 0: none
    /// @param[in] rest    how long what is left takes once that has ended, in 1 / whole of its time in parts
    static Operation calc(Picoseconds time, std::uint32_t parts = 1, std::uint32_t watched = 0,
                          std::uint32_t rest = whole) {
        return {Kind::calc, static_cast<std::uint64_t>(time), watched, (whole - rest) << 16 | (parts - 1)};
    }

    Kind kind() const noexcept { return static_cast<Kind>(packed_ >> 62); }
    std::uint64_t bytes() const noexcept { return packed_ & size_mask; }
    /// Picoseconds of a computation; of a message its bytes, and whether it is synchronous.
    std::uint64_t value() const noexcept { return packed_ & mask; }
    Picoseconds time() const noexcept { return static_cast<Picoseconds>(packed_ & mask); }
    static constexpr std::uint32_t whole = 0xffff;
    std::uint32_t parts() const noexcept { return (tag & whole) + 1; }  ///< of a computation
    std::uint32_t watched() const noexcept { return peer; }             ///< of a computation
    std::uint32_t rest() const noexcept { return whole - (tag >> 16); } ///< of a computation
    bool synchronous() const noexcept { return kind() == Kind::send && (packed_ & synchronous_bit) != 0; }

    std::uint32_t peer; ///< rank, or `any` for a receive; of a computation see `calc`
    std::uint32_t tag;  ///< or `any` for a receive; of a computation see `calc`

    static constexpr std::uint64_t mask = (std::uint64_t{1} << 62) - 1;
    static constexpr std::uint64_t synchronous_bit = std::uint64_t{1} << 61; ///< of a send's value
    static constexpr std::uint64_t size_mask = synchronous_bit - 1;

  private:
    Operation(Kind kind, std::uint64_t value, std::uint32_t to, std::uint32_t with)
        : peer(to), tag(with), packed_(static_cast<std::uint64_t>(kind) << 62 | (value & mask)) {}
    std::uint64_t packed_;
};
static_assert(sizeof(Operation) == 16);

OperationAt operation_at(const Operation &operation, std::uint32_t rank, std::uint32_t number,
                         const std::string &unit);

/// What an operation sets free: `target` waits for its start (GOAL's `irequires`) or for its end
/// (`requires`).
struct Successor {
    std::uint32_t packed;
    std::uint32_t target() const noexcept { return packed >> 1; }
    bool at_start() const noexcept { return (packed & 1) != 0; }
};

/// Which processor and interface of its rank an operation uses.
struct Lane {
    std::uint8_t cpu;
    std::uint8_t nic;
};

/// @brief What every rank does: operations of all ranks, numbered rank after rank, and the edges between
/// them.
///
/// Immutable once built; shared by any number of replays.
struct Schedule {
    std::vector<std::uint32_t> first; ///< rank r owns operations first[r] .. first[r + 1]
    std::vector<Operation> operations;
    std::vector<std::uint32_t> waits_for;  ///< number of edges into each operation
    std::vector<std::uint32_t> edge_first; ///< operation i has successors[edge_first[i] .. edge_first[i + 1]]
    std::vector<Successor> successors;     ///< of one operation: those at its start first
    std::vector<Lane> lanes;               ///< empty if everything uses processor 0 and interface 0
    std::vector<std::uint32_t> origin; ///< line or event number of each operation for messages, may be empty
    std::string origin_word = "operation"; ///< "line", "event"
    std::uint32_t cpus = 1;                ///< processors of each rank
    std::uint32_t nics = 1;                ///< interfaces of each rank
    bool wildcards = false;                ///< some receive takes any source or any tag
    bool divided = false;                  ///< some computation has several parts
    bool recorded =
        false; ///< of a program that ran: where its order blocks for ever, sends end without receives

    std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(first.size() - 1); }
    std::uint32_t rank_of(std::uint32_t operation) const;
    Lane lane(std::uint32_t operation) const noexcept {
        return lanes.empty() ? Lane{0, 0} : lanes[operation];
    }
    /// @return an operation as its input has it
    OperationAt at(std::uint32_t operation) const;
    /// @return number of sends, and their bytes
    std::pair<std::uint64_t, std::uint64_t> messages() const;
};

/// @brief Collects operations rank by rank, in any order of ranks, and makes a Schedule of them.
class ScheduleBuilder {
  public:
    explicit ScheduleBuilder(std::uint32_t ranks, std::string origin_word = "operation");

    /// @return the operation's number within its rank
    std::uint32_t add(std::uint32_t rank, Operation operation, Lane lane = {0, 0}, std::uint32_t origin = 0);
    /// @brief `later` does not begin before `earlier` has ended (or begun, if `at_start`).
    void order(std::uint32_t rank, std::uint32_t later, std::uint32_t earlier, bool at_start = false);

    /// @brief Replace an operation that was added, once it is known better.
    void replace(std::uint32_t rank, std::uint32_t number, Operation operation) {
        ranks_[rank].operations[number] = operation;
    }
    const Operation &operation(std::uint32_t rank, std::uint32_t number) const {
        return ranks_[rank].operations[number];
    }

    std::uint32_t size(std::uint32_t rank) const {
        return ranks_[rank].taken + static_cast<std::uint32_t>(ranks_[rank].operations.size());
    }

    /// What waits for what within a rank.
    struct Edge {
        std::uint32_t earlier, later;
        bool at_start;
    };
    /// Operations of a rank one after the other, and the edges into them.
    struct Part {
        std::uint32_t first = 0; ///< number of the first within the rank
        std::vector<Operation> operations;
        std::vector<std::uint32_t> origin;
        std::vector<Edge> edges;
    };
    /// @brief Take out what was added to a rank since the last time; the numbers go on.
    ///
    /// Operations that were taken are not replaced any more, and there is nothing to `finish`.
    void take(std::uint32_t rank, Part &part);

    /// @brief Number the operations, build the edges and check that no operation waits for itself.
    /// @throws Error a rank's operations wait for each other in a circle
    Schedule finish();

  private:
    struct Rank {
        std::uint32_t taken = 0;
        std::vector<Operation> operations;
        std::vector<Lane> lanes;
        std::vector<std::uint32_t> origin;
        std::vector<Edge> edges;
    };
    std::vector<Rank> ranks_;
    std::string origin_word_;
    bool has_lanes_ = false;
};

/// @brief Fill in the edges of a schedule that has its operations.
/// @param[in] each gives every edge: called three times with a function of (earlier, later, at_start)
template <class Each> void set_edges(Schedule &schedule, const Each &each) {
    const std::size_t operations = schedule.operations.size();
    schedule.waits_for.assign(operations, 0);
    schedule.edge_first.assign(operations + 1, 0);
    each([&](std::uint32_t earlier, std::uint32_t later, bool) {
        ++schedule.edge_first[earlier + 1];
        ++schedule.waits_for[later];
    });
    for (std::size_t i = 0; i < operations; ++i)
        schedule.edge_first[i + 1] += schedule.edge_first[i];
    schedule.successors.resize(schedule.edge_first.back());
    std::vector<std::uint32_t> next(schedule.edge_first.begin(), schedule.edge_first.end() - 1);
    for (const bool starts : {true, false}) // those at the start come first
        each([&](std::uint32_t earlier, std::uint32_t later, bool at_start) {
            if (at_start == starts)
                schedule.successors[next[earlier]++].packed = later << 1 | static_cast<std::uint32_t>(starts);
        });
}

/// @brief An order of all operations in which each comes after those it waits for; the given order where
/// possible.
/// @throws Error operations wait for each other in a circle
std::vector<std::uint32_t> topological_order(const Schedule &schedule);

} // namespace rankwise::replay
