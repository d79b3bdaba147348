// SPDX-License-Identifier: BSD-3-Clause
// `rankwise-tuned PLAN`: tunes the ranks of this node until they end, or it is told to stop.
// `rankwise-tuned --recover STATE`: gives back what a tuner that was killed has left.
// `rankwise-tuned --movers`: names what else moves processes or interrupts here.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/signalfd.h>
#include <syslog.h>
#include <unistd.h>

#include "act/state_lock.hpp"
#include "error.hpp"
#include "events/event_file.hpp"
#include "events/event_line.hpp"
#include "linux_system.hpp"
#include "observe/movers.hpp"
#include "plan/plan.hpp"
#include "proc/priority.hpp"
#include "refused.hpp"
#include "serve/server.hpp"
#include "serve/watchdog.hpp"

namespace rankwise::tune {
namespace {

constexpr Seconds longest_wait_s = 1; // the guard is looked after so often
constexpr Seconds patience_s = 10;    // for ranks, where it ends with them
// It has ended as it should, but its journal has what could not be given back.
constexpr int left_status = 3;
// Its plan is wrong or another tuner is there: the next start would say the same (packaging/systemd).
constexpr int refused_status = 4;

Descriptor take_signals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&wanted, number);
    }
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &wanted, nullptr);
    return Descriptor(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// @brief A tuner at work.
class Run {
  public:
    explicit Run(const Plan &plan)
        : plan_(plan), events_(plan.events), signals_(take_signals()), system_(plan),
          tuner_(plan_.node, plan_.policy, system_, [this](const Event &event) { log(event); }) {}

    /// @return the status to end with
    int work() {
        while (!stopped_) {
            const Seconds due = tuner_.step();
            server_.see(system_.limits());
            server_.see(system_.ranks());
            watchdog_.come_round();
            system_.watch_guard();
            server_.see_guard(system_.guard());
            server_.listen_again();
            log_notes();
            if (plan_.until_ranks_end && have_ended()) {
                break;
            }
            wait_until(due);
        }
        const auto given = tuner_.stop(!plan_.keep);
        if (!given) {
            system_.keep();
        }
        log_notes();
        tuner_.end();
        server_.end(given ? given->failed : 0,
                    given ? given_back_text(*given) : "what was changed stays: --keep");
        return given && given->failed > 0 ? left_status : 0;
    }

  private:
    void log(const Event &event) {
        server_.add(event, events_.add(event));
        if (plan_.daemon) {
            const bool wrong = event.what == Event::failed || event.what == Event::stood_back;
            std::fprintf(stderr, "<%d>%s\n", wrong ? LOG_WARNING : LOG_INFO, event_text(event).c_str());
        }
    }

    void log_notes() {
        for (const auto &note : system_.notes()) {
            Event event;
            event.at = system_.now();
            event.what = Event::seen;
            event.why = note;
            log(event);
        }
    }

    bool have_ended() {
        had_ranks_ = had_ranks_ || !system_.ranks().empty();
        // While a change is measured nobody else looks whether they live.
        const bool none_lives = std::ranges::none_of(
            system_.ranks(), [](const RankSample &rank) { return kill(rank.process.number, 0) == 0; });
        return none_lives && (had_ranks_ || system_.now() > began_ + patience_s);
    }

    void heed_signal() {
        signalfd_siginfo signal{};
        if (read(signals_.number(), &signal, sizeof signal) != sizeof signal) {
            return;
        }
        // A daemon has no terminal that hung up: whoever sends it has renamed its file.
        if (!plan_.daemon || signal.ssi_signo != SIGHUP) {
            stopped_ = true;
        } else if (const auto problem = events_.open_again(); !problem.empty()) {
            Event event;
            event.at = system_.now();
            event.what = Event::failed;
            event.why = problem;
            log(event);
        }
    }

    void wait_until(Seconds due) {
        std::array<pollfd, 2> files{{{signals_.number(), POLLIN, 0}, {server_.poll_file(), POLLIN, 0}}};
        const Seconds wait = std::clamp(due - system_.now(), 0.0, longest_wait_s);
        timespec time{};
        time.tv_sec = static_cast<time_t>(wait);
        time.tv_nsec = static_cast<long>((wait - std::floor(wait)) * 1e9);
        if (ppoll(files.data(), files.size(), &time, nullptr) <= 0) {
            return;
        }
        if (files[0].revents != 0) {
            heed_signal();
        }
        if (files[1].revents != 0) {
            stopped_ = server_.handle() || stopped_;
        }
    }

    const Plan &plan_;
    EventFile events_;
    Descriptor signals_;
    LinuxSystem system_;
    Server server_{plan_.socket, {plan_.daemon, plan_.policy.act, plan_.node.costs_from}};
    Watchdog watchdog_;
    Tuner tuner_;
    const Seconds began_ = system_.now();
    bool had_ranks_ = false, stopped_ = false;
};

/// @return the status to end with
int say(const Error &error, int status) {
    std::fprintf(stderr, "error: %s\n", error.what());
    if (!error.hint().empty()) {
        std::fprintf(stderr, "\nhint: %s\n", error.hint().c_str());
    }
    return status;
}

int recover(const std::string &state) {
    if (access(state.c_str(), F_OK) != 0) {
        throw Error("there is no `" + state + "`", "name the directory of a tuner that was killed");
    }
    const auto lock = lock_state(state); // what a tuner that runs needs stays
    come_first();
    const auto restored = restore_from(state, "/proc", "/sys");
    const auto text = restored_text(restored);
    if (!restored.all()) {
        throw Error(text, "`" + state + "` has what is left: " +
                              (restored.damaged ? "give the masks back with taskset(1), then remove it"
                                                : "try again, as its user or as root"));
    }
    std::puts(text.empty() ? "nothing was left to give back" : text.c_str());
    return 0;
}

int run(int argc, char **argv) {
    if (argc == 3 && std::string_view(argv[1]) == "--recover") {
        return recover(argv[2]);
    }
    if (argc == 2 && std::string_view(argv[1]) == "--movers") {
        Text text;
        for (const auto &mover : MoverReader("/proc", "/sys").read(text, true)) {
            std::printf("%s\n", mover.c_str());
        }
        if (!sees_all_processes(text, "/proc")) {
            std::fprintf(stderr, "%s\n", std::string(hidden_processes).c_str());
        }
        return 0;
    }
    if (argc != 2 || argv[1][0] == '-') {
        std::fputs("usage: rankwise-tuned PLAN | --recover STATE | --movers\n", stderr);
        return 2;
    }
    std::optional<Plan> plan;
    try {
        plan = read_plan(argv[1]);
    } catch (const Error &error) {
        return say(error, refused_status);
    }
    return Run(*plan).work();
}

} // namespace
} // namespace rankwise::tune

int main(int argc, char **argv) {
    try {
        return rankwise::tune::run(argc, argv);
    } catch (const rankwise::tune::Refused &error) {
        return rankwise::tune::say(error, rankwise::tune::refused_status);
    } catch (const rankwise::Error &error) {
        return rankwise::tune::say(error, 1);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "error: %s\n", error.what());
    }
    return 1;
}
