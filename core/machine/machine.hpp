// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "machine/interface.hpp"
#include "machine/network.hpp"
#include "machine/resources.hpp"

namespace rankwise::machine {

/// Later than everything.
inline constexpr Picoseconds never = std::numeric_limits<Picoseconds>::max();

/// LogGOPS parameters for messages of one range of sizes.
struct Segment {
    std::uint64_t up_to_bytes = std::numeric_limits<std::uint64_t>::max();
    Picoseconds L = 0;
    Picoseconds o_send = 0;
    Picoseconds o_receive = 0;
    Picoseconds g = 0;
    double G = 0;
    double O = 0;

    bool operator==(const Segment &) const = default;

    /// (s - 1) times a cost per byte; a message of 0 bytes costs what one of 1 byte does.
    static Picoseconds per_byte(std::uint64_t bytes, double cost) {
        return bytes == 0 ? 0 : time_of_bytes(static_cast<double>(bytes - 1), cost);
    }
};

/// What a message costs on one channel.
struct LinkClass {
    std::vector<Segment> segments; ///< ascending, the last takes the rest
    std::uint64_t eager_limit = std::numeric_limits<std::uint64_t>::max();
    /// Bytes of a connection (an ordered pair of ranks) that wait while a rank is not inside MPI: what the
    /// host holds; what the library holds of eager sends that have ended, and of messages without a posted
    /// receive.
    static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t socket_buffer = unlimited, send_buffer = unlimited, unexpected_buffer = unlimited;
    Picoseconds connect =
        0; ///< processor time of a rank's first message with another one, more than of later ones
    bool in_call = false;    ///< a rendezvous advances only while its ranks are inside MPI
    bool overlap = true;     ///< false: the core moves the bytes
    bool network = false;    ///< passes the nodes' interfaces
    bool interrupts = false; ///< and costs the interrupt core of the receiver's node time
    Picoseconds detour = 0;  ///< latency of interfaces that are far from their ranks, for each way

    const Segment &segment(std::uint64_t bytes) const {
        const auto found = std::find_if(segments.begin(), segments.end() - 1,
                                        [&](const Segment &s) { return bytes <= s.up_to_bytes; });
        return *found;
    }
    /// Processor time per byte at each end.
    double core_per_byte(const Segment &segment) const {
        return overlap ? segment.O : std::max(segment.O, segment.G);
    }
    bool operator==(const LinkClass &) const = default;
};

/// What the ranks of one core do while they wait inside MPI.
enum class CoreSharing : std::uint8_t { none, yield, spin };

/// The numbers of a machine file that the replay uses.
struct Machine {
    std::vector<LinkClass> link_classes;
    Interface tx, rx;             ///< of each interface
    bool half_duplex = false;     ///< an interface carries one direction at a time
    std::uint32_t interfaces = 1; ///< of each node
    std::uint64_t striped_from =
        LinkClass::unlimited;       ///< messages of at least this size pass several interfaces
    std::uint32_t striped_over = 1; ///< so many: their ranks' own ones, and those that follow
    CoreSharing core_sharing = CoreSharing::none;
    bool progress = true;  ///< false: every LinkClass as if its progress were independent
    bool handshake = true; ///< false: a rendezvous costs no message before its data
    std::vector<Bandwidth> bandwidths;
    InterruptCore interrupts;
    /// Computation in the schedule lasts as long as it does, whoever computes beside it; what it would take
    /// alone is found out.
    bool computation_is_as_recorded = false;

    Network network; ///< empty: nodes are connected without anything that messages queue for

    /// The plain model: LogGOPS by channel, interfaces and cores.
    bool only_interfaces_and_cores() const {
        return bandwidths.empty() && !interrupts.exists && network.empty() && !has_buffers() && !half_duplex;
    }
    /// Whether messages can find a buffer full.
    bool has_buffers() const {
        return progress && std::any_of(link_classes.begin(), link_classes.end(), [](const LinkClass &link) {
                   return link.in_call && link.socket_buffer != LinkClass::unlimited;
               });
    }
    /// Whether a message is cut over several interfaces.
    bool stripes(const LinkClass &link, std::uint64_t bytes) const {
        return striped_over > 1 && link.network && bytes >= striped_from;
    }
    /// @return which interface a part of a striped message passes, where its rank has this one; of all nodes'
    std::uint32_t interface_of_part(std::uint32_t own, std::uint32_t part) const {
        return own - own % interfaces + (own % interfaces + part) % interfaces;
    }
    bool operator==(const Machine &) const = default;
};

} // namespace rankwise::machine
