// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "replay/queues/event_queue.hpp"

namespace rankwise::replay {

/// @brief Earliest event first, for very many events: those that are near are sorted, the others lie in
/// buckets by how far they are.
///
/// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan: Faster algorithms for the shortest path problem, JACM 1990):
/// an event lies in the bucket of the highest bit in which its time differs from `base_`, which is at most
/// the time of any event in a bucket. The nearest bucket is dealt out to nearer ones, or sorted once it is
/// small or of one time. All that goes through memory in order, whatever the number of events, and what comes
/// next is known early enough to fetch it.
class RadixQueue {
  public:
    bool empty() {
        if (head_ == near_.size() && late_.empty())
            refill();
        return head_ == near_.size() && late_.empty();
    }

    /// @return the earliest event; `empty()` has said that there is one
    const Event &top() const noexcept { return late_is_first() ? late_.top() : near_[head_]; }

    /// @brief Take the earliest; `empty()` has said that there is one.
    Event pop() { return late_is_first() ? late_.pop() : near_[head_++]; }

    /// @brief Have what coming events need brought into the cache: called before each `pop()`.
    /// @param[in] early called with each event some time before it is taken
    /// @param[in] late  called with each event a little later, when what `early` asked for should be there
    template <class Early, class Late> void fetch(const Early &early, const Late &late) {
        const auto each = [&](std::size_t from, std::size_t to, const auto &call) {
            for (std::size_t k = head_ + from; k < std::min(head_ + to, near_.size()); ++k)
                call(near_[k]);
        };
        each(is_new_ ? 0 : early_by - 1, early_by, early);
        each(is_new_ ? 0 : late_by - 1, late_by, late);
        is_new_ = false;
    }

    void push(const Event &event) {
        if (event.time >= near_end_)
            buckets_[bucket_of(event.time)].push_back(event);
        else if (near_.size() < most_near && (head_ == near_.size() || before(near_.back(), event)))
            near_.push_back(event);
        else
            late_.push(event);
    }

    /// @brief Change all events in a way that leaves them in order.
    template <class Change> void change(const Change &to) {
        for (std::size_t k = head_; k < near_.size(); ++k)
            to(near_[k]);
        for (auto &bucket : buckets_)
            for (Event &event : bucket)
                to(event);
        late_.change(to);
    }

  private:
    static constexpr std::size_t sorted_at_once = 64, early_by = 17, late_by = 9;
    static constexpr std::size_t most_near = std::size_t{1}
                                             << 20; ///< those that were taken are kept among them

    bool late_is_first() const noexcept {
        return !late_.empty() && (head_ == near_.size() || before(late_.top(), near_[head_]));
    }
    std::size_t bucket_of(std::int64_t time) const noexcept {
        return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(time ^ base_)));
    }

    void refill() {
        near_.clear();
        head_ = 0;
        is_new_ = true;
        for (;;) {
            const auto nearest =
                std::find_if(buckets_.begin(), buckets_.end(), [](const auto &b) { return !b.empty(); });
            if (nearest == buckets_.end())
                return;
            const auto bits = static_cast<unsigned>(nearest - buckets_.begin());
            const auto [least, most] =
                std::minmax_element(nearest->begin(), nearest->end(),
                                    [](const Event &a, const Event &b) { return a.time < b.time; });
            const bool one_time = least->time == most->time;
            base_ = least->time;
            if (one_time || nearest->size() <= sorted_at_once) {
                const std::int64_t range = (std::int64_t{1} << bits) - 1;
                near_end_ = one_time ? base_ + 1 : (base_ | range) + 1;
                near_.swap(*nearest);
                if (!std::is_sorted(near_.begin(), near_.end(), Before{}))
                    sort(one_time);
                return;
            }
            dealt_out_.swap(*nearest);
            for (const Event &event : dealt_out_)
                buckets_[bucket_of(event.time)].push_back(event);
            dealt_out_.clear();
        }
    }

    void sort(bool one_time) {
        if (!one_time || near_.size() < 4 * sorted_at_once) {
            std::sort(near_.begin(), near_.end(), Before{});
            return;
        }
        // Many events of one time: by their order alone, a digit after the other.
        constexpr unsigned bits = 8, digits = 4;
        std::array<std::array<std::uint32_t, 1u << bits>, digits> first{};
        const auto digit = [](const Event &event, unsigned d) {
            return event.order >> d * bits & ((1u << bits) - 1);
        };
        for (const Event &event : near_)
            for (unsigned d = 0; d < digits; ++d)
                ++first[d][digit(event, d)];
        dealt_out_.resize(near_.size());
        for (unsigned d = 0; d < digits; ++d) {
            if (first[d][digit(near_.front(), d)] == near_.size())
                continue; // all have the same
            std::uint32_t sum = 0;
            for (std::uint32_t &count : first[d])
                sum += std::exchange(count, sum);
            for (const Event &event : near_)
                dealt_out_[first[d][digit(event, d)]++] = event;
            near_.swap(dealt_out_);
        }
        dealt_out_.clear();
    }

    std::vector<Event> near_; ///< sorted; those before head_ were taken
    std::size_t head_ = 0;
    bool is_new_ = false; ///< near_ was filled since the last fetch()
    EventQueue late_;     ///< before near_end_ as those of near_, but not in order
    std::int64_t near_end_ = 0;
    std::int64_t base_ = 0;
    std::array<std::vector<Event>, 65> buckets_;
    std::vector<Event> dealt_out_;
};

} // namespace rankwise::replay
