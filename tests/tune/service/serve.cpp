// SPDX-License-Identifier: BSD-3-Clause
// A server with some events, for tests: `serve SOCKET [resumed|jobs]`. Says at its end how long it was busy
// at most.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <poll.h>
#include <string_view>
#include <unistd.h>

#include "error.hpp"
#include "events/event_line.hpp"
#include "proc/clock.hpp"
#include "serve/server.hpp"

using rankwise::tune::Event;

namespace {

double now() {
    return rankwise::tune::clock_s(CLOCK_MONOTONIC);
}

Event event_of(Event::What what, const char *group = "") {
    Event event;
    event.at = now();
    event.what = what;
    event.group = group;
    return event;
}

/// Two jobs of one user, of which each has its launcher's number in its name; a guard that has worked.
pid_t add_jobs(rankwise::tune::Server &server) {
    Event measured = event_of(Event::measured);
    measured.rate = 12.5;
    for (const char *name : {"mpiexec.17/user-1000/ranks-2/cgroup-ab", "srun.18/user-1000/ranks-1"}) {
        server.add(event_of(Event::rank_found, name));
        measured.group = name;
        measured.rate_of = name[0] == 'm' ? "iterations" : "calls";
        server.add(measured);
    }
    Event moved = event_of(Event::applied);
    moved.change.moves.resize(2);
    moved.change.pages.resize(1);
    moved.change.interrupts.resize(1);
    server.add(moved);
    Event restored = event_of(Event::restored, "srun.18/user-1000/ranks-1");
    restored.change.interrupts.resize(1);
    server.add(restored);
    const pid_t guard = fork();
    if (guard == 0) {
        while (rankwise::tune::clock_s(CLOCK_PROCESS_CPUTIME_ID) < 0.3) {
        }
        pause();
    }
    server.see_guard(guard);
    return guard;
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    try {
        rankwise::tune::Server server(argv[1], {.daemon = false, .act = true, .costs_from = "assumed"});
        const auto logged = [&](const Event &event) { server.add(event, event_line(event, 1e9)); };
        logged(event_of(Event::started));
        for (int rank = 0; rank < 3; ++rank)
            logged(event_of(Event::rank_found, "job \"1\"\n\xff\\"));
        server.add(event_of(Event::rank_found, "gone"));
        server.add(event_of(Event::rank_gone, "gone"));
        Event measured = event_of(Event::measured, "job \"1\"\n\xff\\");
        measured.rate = 12.5;
        measured.rate_of = "iterations";
        server.add(measured);
        for (int count = 0; count < 100; ++count) {
            for (const auto what : {Event::proposed, Event::applied, Event::kept})
                logged(event_of(what));
            logged(event_of(Event::rank_found, "gone"));
            logged(event_of(Event::rank_gone, "gone"));
        }
        Event mover = event_of(Event::stood_back);
        mover.why = "numad moves processes or pages here, too";
        server.add(mover);
        rankwise::tune::Limits limits;
        limits.clock = 0.75;
        limits.power.push_back({"package-0", 180});
        limits.unknown.emplace_back("throttling by heat: \"none\"");
        server.see(limits);
        rankwise::tune::RankSample rank;
        rank.group = "job \"1\"\n\xff\\";
        rank.threads.resize(2);
        for (auto &thread : rank.threads)
            thread.major_faults = 3;
        rank.threads.back().migrations = 4;
        server.see({rank});
        const std::string_view more = argc == 3 ? argv[2] : "";
        if (more == "resumed")
            server.add(event_of(Event::resumed));
        const pid_t guard = more == "jobs" ? add_jobs(server) : 0;
        std::puts("ready");
        std::fflush(stdout);
        double busiest = 0;
        for (bool stopped = false; !stopped;) {
            pollfd file{server.poll_file(), POLLIN, 0};
            poll(&file, 1, 1000);
            const double begin = now();
            server.listen_again();
            stopped = server.handle();
            busiest = std::max(busiest, now() - begin);
        }
        server.end(0, "given back: 4 threads, 1 interrupt");
        std::printf("%.9f\n", busiest);
        if (guard > 0)
            kill(guard, SIGKILL);
    } catch (const rankwise::Error &error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
    return 0;
}
