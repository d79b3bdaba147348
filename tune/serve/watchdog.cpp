// SPDX-License-Identifier: BSD-3-Clause
#include "serve/watchdog.hpp"

#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include "proc/clock.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

constexpr double times_an_interval = 4;

std::string_view variable(const char *name) {
    const char *const value = std::getenv(name);
    return value != nullptr ? value : "";
}

} // namespace

Watchdog::Watchdog() {
    const auto path = variable("NOTIFY_SOCKET");
    const auto interval = as_number(variable("WATCHDOG_USEC"));
    const auto process = as_number(variable("WATCHDOG_PID"));
    if (!interval || path.empty() || path.size() >= sizeof address_.sun_path ||
        process.value_or(static_cast<std::uint64_t>(getpid())) != static_cast<std::uint64_t>(getpid())) {
        return;
    }
    address_.sun_family = AF_UNIX;
    path.copy(address_.sun_path, path.size());
    if (path[0] == '@') { // its name has no file
        address_.sun_path[0] = '\0';
    }
    address_bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    pause_ = static_cast<Seconds>(*interval) * 1e-6 / times_an_interval;
    socket_ = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void Watchdog::come_round() {
    const auto now = clock_s(CLOCK_MONOTONIC);
    if (!socket_ || now < due_) {
        return;
    }
    constexpr std::string_view said = "WATCHDOG=1";
    // What is not heard is said again the next time.
    if (sendto(socket_.number(), said.data(), said.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr *>(&address_), address_bytes_) > 0) {
        due_ = now + pause_;
    }
}

} // namespace rankwise::tune
