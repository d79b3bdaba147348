// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// Messages from one rank to another with one tag.
struct StreamKey {
    std::uint32_t source, destination, tag;
    bool operator==(const StreamKey &) const = default;
};
struct StreamHash {
    std::size_t operator()(const StreamKey &key) const noexcept {
        std::uint64_t hash = (std::uint64_t{key.source} << 32 | key.destination) * 0x9E3779B97F4A7C15u;
        hash = (hash ^ hash >> 29 ^ key.tag) * 0xBF58476D1CE4E5B9u;
        return hash ^ hash >> 32;
    }
};

/// @brief Messages from one rank to another with one tag, in order: what was sent and not received yet, or
/// the other way round.
struct Stream {
    struct End {
        std::uint32_t op;      ///< the send or the receive; `any` if the send is gone
        std::uint32_t receive; ///< of a send: what stands for its receive, `any` if nothing does yet
        std::uint64_t message; ///< as of `MatchedOperation::message`
    };
    std::uint32_t source, destination, tag;
    bool sends = false;  ///< what waits are sends
    bool listed = false; ///< among `Streams::open`
    std::vector<End> ends;
    std::size_t head = 0; ///< those before it are matched

    bool empty() const noexcept { return head == ends.size(); }
    End take() noexcept {
        const End end = ends[head++];
        if (empty()) {
            ends.clear();
            head = 0;
        }
        return end;
    }
};

/// @brief All streams in which something waits for its other end.
class Streams {
  public:
    /// @return the stream of a message, which holds until the next call
    Stream &of(std::uint32_t source, std::uint32_t destination, std::uint32_t tag) {
        const auto [found, is_new] = numbers_.try_emplace(StreamKey{source, destination, tag},
                                                          static_cast<std::uint32_t>(all_.size()));
        if (is_new)
            all_.push_back({source, destination, tag, false, false, {}, 0});
        return all_[found->second];
    }
    void add(Stream &stream, bool sends, Stream::End end) {
        stream.sends = sends;
        stream.ends.push_back(end);
        if (!stream.listed)
            open_.push_back(static_cast<std::uint32_t>(&stream - all_.data()));
        stream.listed = true;
    }
    /// @brief Go through all streams in which something waits.
    template <class Call> void each_open(const Call &call) {
        std::size_t left = 0;
        for (const std::uint32_t number : open_) {
            Stream &stream = all_[number];
            stream.listed = !stream.empty();
            if (!stream.listed)
                continue;
            open_[left++] = number;
            stream.ends.erase(stream.ends.begin(),
                              stream.ends.begin() + static_cast<std::ptrdiff_t>(stream.head));
            stream.head = 0;
            call(stream);
        }
        open_.resize(left);
    }

  private:
    std::unordered_map<StreamKey, std::uint32_t, StreamHash> numbers_;
    std::vector<Stream> all_;
    std::vector<std::uint32_t> open_;
};

/// @brief Checks that all messages are received, without keeping them.
class MessageBalance {
  public:
    explicit MessageBalance(std::uint32_t ranks) : ranks_(ranks) {}

    /// @throws Error a peer that does not exist; a receive that does not say what it takes
    void add(std::uint32_t rank, const Operation &operation, std::uint32_t event);
    /// @throws Error a send without a receive or the other way round
    void check() const;

  private:
    struct Last {
        std::uint32_t event = 0;
        std::uint64_t bytes = 0;
    };
    struct Count {
        std::int64_t sends = 0; ///< more than receives
        Last last_send, last_receive;
    };
    std::uint32_t ranks_;
    std::unordered_map<StreamKey, Count, StreamHash> counts_;
};

} // namespace rankwise::replay
