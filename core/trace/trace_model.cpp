// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace_model.hpp"

#include <algorithm>

namespace rankwise::trace {

TraceModel::Expected TraceModel::expected() const {
    const std::uint64_t x = hash(history_);
    const Follower &follower = followers_[x >> (64 - RW_MODEL_FOLLOWER_BITS)];
    if (follower.shape != 0 && follower.check == static_cast<std::uint16_t>(x >> 8)) {
        return {follower.shape - 1u, follower.codes};
    }
    const std::uint32_t after = after_[history_ & 0xffff];
    return after == 0 ? Expected{} : Expected{after - 1, codes_[after - 1]};
}

bool TraceModel::add(std::span<const std::byte> shape) {
    if (shape.size() > RW_MODEL_SHAPE_BYTES || shapes_.size() == RW_MODEL_SHAPES ||
        shape.size() > RW_MODEL_ARENA_BYTES - arena_.size()) {
        return false;
    }
    shapes_.push_back({static_cast<std::uint32_t>(arena_.size()), static_cast<std::uint32_t>(shape.size())});
    codes_.push_back(last_);
    arena_.insert(arena_.end(), shape.begin(), shape.end());
    return true;
}

void TraceModel::came(std::uint32_t number, std::uint16_t kind, TimeCodes codes) {
    const std::uint64_t x = hash(history_);
    const auto next = static_cast<std::uint16_t>(number + 1);
    followers_[x >> (64 - RW_MODEL_FOLLOWER_BITS)] = {next, static_cast<std::uint16_t>(x >> 8), codes};
    after_[history_ & 0xffff] = next;
    of_kind_[kind] = next;
    codes_[number] = last_ = codes;
    history_ = history_ << 16 | next;
}

void TraceModel::forget() {
    history_ = 0;
    last_ = {};
    std::fill(followers_.begin(), followers_.end(), Follower{});
    std::fill(after_.begin(), after_.end(), std::uint16_t{0});
    std::fill(of_kind_.begin(), of_kind_.end(), std::uint16_t{0});
    shapes_.clear();
    codes_.clear();
    arena_.clear();
}

std::uint64_t time_of_code(std::uint32_t code, unsigned unit_shift) {
    const std::uint64_t units = code < 8 ? code : std::uint64_t{4 + code % 4} << (code / 4 - 1);
    return units << unit_shift;
}

} // namespace rankwise::trace
