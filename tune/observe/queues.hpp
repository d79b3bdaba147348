// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "observe/seldom.hpp"
#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Where network interfaces are served: units of their interrupts, and units to which their receive
/// queues hand packets on (receive packet steering, RPS).
struct Queues {
    std::vector<std::string> sentences;     ///< one an interface
    std::map<std::int32_t, PuSet> steered;  ///< by interrupt, where packets of its interface go on to
    PuSet steered_to;                       ///< of all interfaces
    std::map<std::string, std::string> rps; ///< by interface, as text
};

/// @return whether interfaces that are seen are those of this tuner's own network namespace, and not the
/// node's: process 1 is in another one. False where that cannot be found out
bool has_own_network(const std::string &proc);

/// @brief What is said then.
inline constexpr std::string_view hidden_network =
    "network interfaces of the node: this tuner has a network namespace of its own, and sees no others";

/// @return units of a mask in hexadecimal, as `00000001,00000000` of rps_cpus
std::optional<PuSet> parse_pu_mask(std::string_view text);

/// @brief Reads them: class/net of /sys, irq of /proc.
class QueueReader {
  public:
    QueueReader(std::string proc, std::string sys) : proc_(std::move(proc)), sys_(std::move(sys)) {}

    /// @brief They are looked at seldom: a node has hundreds.
    const Queues &read(Text &text);

    /// @return a sentence for each interface whose steering is not what it was at the last call
    std::vector<std::string> changed();

  private:
    void look(Text &text);
    void look_at(const std::string &interface, Text &text);

    std::string proc_, sys_;
    Queues queues_;
    std::map<std::string, std::string> said_;
    Seldom due_{10};
};

} // namespace rankwise::tune
