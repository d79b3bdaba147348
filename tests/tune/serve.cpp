// SPDX-License-Identifier: BSD-3-Clause
// A server with some events, for tests: `serve SOCKET`. Says at its end how long it was busy at most.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <poll.h>

#include "error.hpp"
#include "serve/server.hpp"

using rankwise::tune::Event;

namespace {

double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Event event_of(Event::What what, const char *group = "") {
    Event event;
    event.at = now();
    event.what = what;
    event.group = group;
    return event;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    try {
        rankwise::tune::Server server(argv[1], {.daemon = false, .act = true, .costs_from = "assumed"});
        server.add(event_of(Event::started));
        for (int rank = 0; rank < 3; ++rank)
            server.add(event_of(Event::rank_found, "job \"1\"\n\xff\\"));
        server.add(event_of(Event::rank_found, "gone"));
        server.add(event_of(Event::rank_gone, "gone"));
        Event measured = event_of(Event::measured, "job \"1\"\n\xff\\");
        measured.rate = 12.5;
        measured.rate_of = "iterations";
        server.add(measured);
        for (int count = 0; count < 100; ++count)
            server.add(event_of(Event::kept), "{\"monotonic_s\": 1.5, \"unix_s\": 2.5, \"what\": \"kept\"}");
        std::puts("ready");
        std::fflush(stdout);
        double busiest = 0;
        for (bool stopped = false; !stopped;) {
            pollfd file{server.poll_file(), POLLIN, 0};
            poll(&file, 1, -1);
            const double begin = now();
            stopped = server.handle();
            busiest = std::max(busiest, now() - begin);
        }
        std::printf("%.9f\n", busiest);
    } catch (const rankwise::Error &error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
    return 0;
}
