// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "error.hpp"

namespace rankwise {

/// An operation of a program, and where its input has it.
struct OperationAt {
    std::uint32_t rank = 0;
    std::uint32_t number = 0; ///< of the line, the event or the operation
    std::string unit = {};    ///< what `number` counts
    std::string kind = {};    ///< "send", "recv" or "calc"
    std::uint64_t bytes = 0;  ///< of a message
    std::int64_t time_ps = 0; ///< of a computation
    std::int64_t peer = -1;   ///< of a message; -1 for any
    std::int64_t tag = -1;    ///< of a message; -1 for any
    bool synchronous = false;
};

/// What is wrong with a program as a whole. `rankwise.schedule.faults` has the sentence of each kind.
struct Fault {
    enum class Kind : std::uint8_t {
        circle,            ///< `operations` of one rank wait for each other
        deadlock,          ///< `operations` of several ranks do
        endless_receive,   ///< a receive of any message that never ended
        intercommunicator, ///< `call` does not fit its own: `rank`, event `count`
        long_message,      ///< of about `bytes`
        long_program,
        missing_peer,  ///< there are `count` ranks
        small_receive, ///< for a message of `bytes`; its send is the second operation, where it is known
        unanswered,
        unreceived, ///< the send is one of `count` alike
        unsent,     ///< the receive is one of `count` alike
        untraced,   ///< `rank`
    };
    static constexpr std::array names{"circle",       "deadlock",     "endless_receive", "intercommunicator",
                                      "long_message", "long_program", "missing_peer",    "small_receive",
                                      "unanswered",   "unreceived",   "unsent",          "untraced"};
    static_assert(names.size() == static_cast<std::size_t>(Kind::untraced) + 1);
    Kind kind;
    std::vector<OperationAt> operations = {}; ///< what it is about
    std::uint32_t rank = 0;
    std::uint64_t count = 0, bytes = 0;
    std::string call = {}; ///< of MPI

    const char *name() const { return names[static_cast<std::size_t>(kind)]; }
};

/// Becomes `rankwise.schedule.faults.FaultError` in Python.
class FaultError : public Error {
  public:
    explicit FaultError(Fault what) : Error(what.name()), fault_(std::move(what)) {}
    const Fault &fault() const noexcept { return fault_; }

  private:
    Fault fault_;
};

} // namespace rankwise
