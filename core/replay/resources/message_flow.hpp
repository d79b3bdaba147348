// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "large_array.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief A message whose way has more to it than two interfaces: where it is, part by part.
///
/// It is cut into parts of some bytes, one behind the other, or *striped*: over several interfaces of its
/// nodes, whose parts are numbered as they leave.
///
/// Each stage is passed by the parts in their order: stage 0 is the node's own interface (tx), then come the
/// ports of the way, the other node's interface (rx), its interrupt core, and the receiver.
struct Flow {
    std::uint32_t send = any;
    std::vector<std::uint32_t> way;    ///< switch ports
    std::vector<std::uint32_t> passed; ///< of each stage: parts that have been there
    std::uint64_t bytes = 0;
    std::uint64_t part = 0; ///< bytes of each part but the last
    std::uint32_t parts = 1, handed_over = 0, read = 0;
    Picoseconds link = 0; ///< when the next part can leave, where the processor moves the bytes
    std::vector<Picoseconds> first_byte, last_byte; ///< of each part: when they can be at the next stage
    std::uint32_t connection = any;                 ///< where it goes through buffers
    std::uint64_t kept = 0;            ///< bytes that the receiver's library holds without a posted receive
    std::vector<std::uint32_t> stripe; ///< of a striped message: its parts in the order in which they leave
    Picoseconds last_stripe = 0;       ///< when the last of its parts that have come is there

    std::uint64_t begin(std::uint32_t k) const { return k * part; }
    std::uint64_t end(std::uint32_t k) const { return k + 1 == parts ? bytes : (k + 1) * part; }
    std::uint64_t size(std::uint32_t k) const { return end(k) - begin(k); }
    std::size_t rx() const noexcept { return way.size() + 1; } ///< numbers of stages
    std::size_t interrupt_core() const noexcept { return way.size() + 2; }
    std::size_t receiver() const noexcept { return way.size() + 3; }
    std::uint32_t enter(std::size_t stage) { return passed[stage]++; }
    /// Bytes of a part of a striped message.
    std::uint64_t stripe_bytes(std::uint32_t of_part) const {
        return std::min(bytes, (of_part + 1) * part) - std::min(bytes, of_part * part);
    }

    /// @param[in] over so many interfaces
    void cut_over(std::uint32_t over) {
        part = (bytes + over - 1) / over;
        parts = over;
        last_stripe = 0;
        stripe.assign(parts, 0);
        first_byte.assign(parts, 0);
        last_byte.assign(parts, 0);
    }
    void start(std::uint32_t of_send, std::uint64_t of_bytes, std::uint64_t of_part) {
        send = of_send;
        bytes = of_bytes;
        part = of_part;
        parts = of_part >= of_bytes ? 1 : static_cast<std::uint32_t>((of_bytes + of_part - 1) / of_part);
        handed_over = read = 0;
        link = 0;
        connection = any;
        kept = 0;
        passed.assign(receiver() + 1, 0);
        first_byte.assign(parts, 0);
        last_byte.assign(parts, 0);
    }
};

/// @brief The messages that are under way, by their sends.
class Flows {
  public:
    /// @param[in] operations of the schedule; 0 if no message will be added
    explicit Flows(std::size_t operations) : number_of_(operations) {}

    Flow &add(std::uint32_t send) {
        if (unused_.empty()) {
            unused_.push_back(static_cast<std::uint32_t>(flows_.size()));
            flows_.emplace_back();
        }
        number_of_[send] = unused_.back() + 1;
        unused_.pop_back();
        return flows_[number_of_[send] - 1];
    }
    bool has(std::uint32_t send) const noexcept { return !number_of_.empty() && number_of_[send] != 0; }
    Flow &of(std::uint32_t send) noexcept { return flows_[number_of_[send] - 1]; }
    void remove(std::uint32_t send) {
        unused_.push_back(number_of_[send] - 1);
        flows_[unused_.back()].send = any;
        number_of_[send] = 0;
    }

    /// @brief Operations have other numbers.
    /// @param[in] now  of each as it was
    /// @param[in] size how many there are
    void renumber(std::span<const std::uint32_t> now, std::size_t size) {
        if (number_of_.empty())
            return;
        number_of_.assign(size, 0);
        for (std::size_t k = 0; k < flows_.size(); ++k)
            if (flows_[k].send != any) {
                flows_[k].send = now[flows_[k].send];
                number_of_[flows_[k].send] = static_cast<std::uint32_t>(k + 1);
            }
    }

  private:
    std::deque<Flow> flows_; ///< stay where they are
    std::vector<std::uint32_t> unused_;
    LargeArray<std::uint32_t> number_of_; ///< of each send, counted from 1; 0: not under way
};

} // namespace rankwise::replay
