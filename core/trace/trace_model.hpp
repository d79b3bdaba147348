// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recording.h"

namespace rankwise::trace {

/// @brief Codes of gap and duration of a coded trace (formats/recording.h, "Coded traces").
struct TimeCodes {
    std::uint8_t gap = 0, duration = 0;
};

/// @brief What is to be expected in a coded trace: the reader's half of record/trace/trace_model.h.
///
/// Its memory is bounded by the format, whatever the stream says.
class TraceModel {
  public:
    TraceModel() : followers_(RW_MODEL_FOLLOWERS), after_(RW_MODEL_SHAPES + 1), of_kind_(RW_EVENT_LOST + 1) {}

    struct Expected {
        std::uint32_t number = none;
        TimeCodes codes;
    };
    static constexpr std::uint32_t none = 0xffffffff;

    /// @return what comes next if nothing unexpected does; its number is `none` where nothing is known
    Expected expected() const;

    /// @return codes to be expected of a shape that is given by its number
    TimeCodes codes(std::uint32_t number) const { return codes_[number]; }

    /// @return codes to be expected of a new shape
    TimeCodes last() const { return last_; }

    /// @return number of the shape of this kind that came last, `none` if there was none
    std::uint32_t last_of_kind(std::uint64_t kind) const {
        return kind < of_kind_.size() && of_kind_[kind] != 0 ? of_kind_[kind] - 1u : none;
    }

    /// @return number of shapes
    std::uint32_t size() const { return static_cast<std::uint32_t>(shapes_.size()); }

    /// @return kind and payload, packed
    /// @pre number < size()
    std::span<const std::byte> shape(std::uint32_t number) const {
        return std::span(arena_).subspan(shapes_[number].offset, shapes_[number].length);
    }

    /// @brief Number a new shape.
    /// @return false if it is longer than the format allows, or there is no room
    bool add(std::span<const std::byte> shape);

    /// @brief An event of this shape and kind, with these codes, came.
    /// @pre number < size(), kind <= RW_EVENT_LOST
    void came(std::uint32_t number, std::uint16_t kind, TimeCodes codes);

    /// @brief Everything is as at the start.
    void forget();

  private:
    struct Follower {
        std::uint16_t shape = 0, check = 0; // number + 1
        TimeCodes codes;
    };
    struct Shape {
        std::uint32_t offset, length;
    };
    static std::uint64_t hash(std::uint64_t history) { return history * 0x9e3779b97f4a7c15u; }

    std::uint64_t history_ = 0;
    TimeCodes last_;
    std::vector<Follower> followers_;
    std::vector<std::uint16_t> after_, of_kind_; // number + 1
    std::vector<Shape> shapes_;
    std::vector<TimeCodes> codes_;
    std::vector<std::byte> arena_;
};

/// @brief Ticks that a code stands for.
/// @pre code <= RW_CODE_MOST
std::uint64_t time_of_code(std::uint32_t code, unsigned unit_shift);

} // namespace rankwise::trace
