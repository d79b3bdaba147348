// SPDX-License-Identifier: BSD-3-Clause
#include "trace/pack_events.hpp"

#include <algorithm>
#include <string>

#include "error.hpp"
#include "recording.h"

namespace rankwise::trace {
namespace {

constexpr std::uint32_t unknown = ~0u;

void append(std::vector<std::byte> &stream, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) {
        stream.push_back(static_cast<std::byte>(number | 0x80));
    }
    stream.push_back(static_cast<std::byte>(number));
}

/// Numbers of shapes as the reader gives them.
class Numbers {
  public:
    explicit Numbers(std::size_t shapes) : number_(shapes, unknown) {}

    std::uint32_t of(std::size_t shape) const { return number_[shape]; }

    bool has_room(std::size_t bytes) const {
        return given_ < RW_MODEL_SHAPES && bytes <= RW_MODEL_ARENA_BYTES - bytes_;
    }
    void give(std::size_t shape, std::size_t bytes) {
        number_[shape] = given_++;
        bytes_ += bytes;
    }
    void forget() {
        std::fill(number_.begin(), number_.end(), unknown);
        given_ = 0;
        bytes_ = 0;
    }

  private:
    std::vector<std::uint32_t> number_;
    std::uint32_t given_ = 0;
    std::size_t bytes_ = 0;
};

} // namespace

std::vector<std::byte> pack_events(std::span<const std::span<const std::byte>> shapes,
                                   std::span<const std::uint32_t> shape_of,
                                   std::span<const std::uint64_t> gaps,
                                   std::span<const std::uint64_t> durations) {
    if (gaps.size() != shape_of.size() || durations.size() != shape_of.size()) {
        throw Error("columns of events differ in length");
    }
    std::vector<std::byte> stream;
    Numbers numbers(shapes.size());
    for (std::size_t i = 0; i < shape_of.size(); ++i) {
        if (shape_of[i] >= shapes.size()) {
            throw Error("event `" + std::to_string(i) + "` has a shape that is not there");
        }
        const auto shape = shapes[shape_of[i]];
        if (numbers.of(shape_of[i]) != unknown) {
            stream.push_back(static_cast<std::byte>(RW_TOKEN_KNOWN));
            append(stream, numbers.of(shape_of[i]));
        } else {
            const bool kept = shape.size() <= RW_MODEL_SHAPE_BYTES;
            if (kept && !numbers.has_room(shape.size())) {
                stream.push_back(static_cast<std::byte>(RW_TOKEN_FORGET));
                numbers.forget();
            }
            stream.push_back(static_cast<std::byte>(kept ? RW_TOKEN_NEW : RW_TOKEN_SINGLE));
            stream.insert(stream.end(), shape.begin(), shape.end());
            if (kept) {
                numbers.give(shape_of[i], shape.size());
            }
        }
        append(stream, gaps[i]);
        append(stream, durations[i]);
    }
    return stream;
}

} // namespace rankwise::trace
