// SPDX-License-Identifier: BSD-3-Clause
// A LinuxSystem that does what it reads from its stdin, a line at a time, and answers each with a line of
// JSON or text. `driver --read KIND FILE...` hands files to the reader of a KIND; built with sanitizers, it
// ends badly on any wrong access. `driver --pages PROC NODE PID...` moves all pages of processes, as files
// of PROC say that they have them, and prints what could not be moved.
#include <chrono>
#include <deque>
#include <fcntl.h>
#include <iostream>
#include <sstream>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "act/births.hpp"
#include "act/page_moves.hpp"
#include "act/restore.hpp"
#include "error.hpp"
#include "events/event_line.hpp"
#include "linux_system.hpp"
#include "observe/mpi_share.hpp"
#include "observe/numa_pages.hpp"
#include "proc/pu_list.hpp"
#include "proc/tasks.hpp"

namespace {

using namespace rankwise::tune;

std::deque<std::string> gates;
Births births;

PuSet pus(const std::string &list) {
    const auto set = parse_pu_list(list);
    return set ? *set : throw rankwise::Error("no list: " + list);
}

template <class List, class Show> std::string list(const List &items, Show show) {
    std::ostringstream line;
    line.precision(17);
    line << '[';
    bool first = true;
    for (const auto &item : items) {
        line << (first ? "" : ", ");
        show(line, item);
        first = false;
    }
    line << ']';
    return line.str();
}

void show_number(std::ostream &line, const auto &value) {
    line << value;
}

void show_thread(std::ostream &line, const ThreadSample &thread) {
    line << "{\"tid\": " << thread.id.number << ", \"start\": " << thread.id.start << ", \"state\": \""
         << thread.state << "\", \"run\": " << thread.run << ", \"queued\": " << thread.queued
         << ", \"pu\": " << thread.pu << ", \"mask\": \"" << format_pu_list(thread.mask)
         << "\", \"major_faults\": " << thread.major_faults << ", \"migrations\": " << thread.migrations
         << ", \"run_on\": "
         << list(thread.run_on,
                 [](auto &out, const auto &each) { out << '[' << each.first << ", " << each.second << ']'; })
         << ", \"run_on_number\": " << thread.run_on_number << "}";
}

std::string progress_of(const std::optional<Progress> &progress) {
    if (!progress) {
        return "null";
    }
    std::ostringstream line;
    line.precision(17);
    line << "{\"rank\": " << progress->rank << ", \"ranks\": " << progress->ranks
         << ", \"calls\": " << progress->calls << ", \"iterations\": " << progress->iterations
         << ", \"mpi\": " << progress->mpi << ", \"wait\": " << progress->wait
         << ", \"iteration_end\": " << progress->iteration_end << ", \"known_by\": " << progress->known_by
         << ", \"anchor\": " << progress->anchor << ", \"ended\": " << progress->ended
         << ", \"messages\": " << progress->messages << ", \"bytes\": " << progress->bytes << ", \"peers\": "
         << list(progress->peers,
                 [](std::ostream &out, const Progress::Peer &peer) {
                     out << '[' << peer.rank << ", " << peer.messages << ", " << peer.bytes << ']';
                 })
         << '}';
    return line.str();
}

void show_rank(std::ostream &line, const RankSample &rank) {
    line << "{\"pid\": " << rank.process.number << ", \"start\": " << rank.process.start << ", \"group\": \""
         << rank.group << "\", \"stopped\": " << (rank.stopped ? "true" : "false")
         << ", \"threads\": " << list(rank.threads, show_thread)
         << ", \"progress\": " << progress_of(rank.progress) << ", \"sampled_mpi\": ";
    if (rank.sampled_mpi) {
        line << *rank.sampled_mpi;
    } else {
        line << "null";
    }
    line << ", \"pages_by_numa\": "
         << list(rank.pages.on, [](auto &out, auto value) { show_number(out, value); })
         << ", \"has_dlb\": " << (rank.has_dlb ? "true" : "false") << '}';
}

void show_optional(std::ostream &line, const auto &value) {
    if (value) {
        line << *value;
    } else {
        line << "null";
    }
}

void show_pu(std::ostream &line, const PuSample &pu) {
    line << "{\"os\": " << pu.os << ", \"online\": " << (pu.online ? "true" : "false")
         << ", \"busy\": " << pu.busy << ", \"interrupt\": " << pu.interrupt << ", \"stolen\": " << pu.stolen
         << ", \"interrupts\": " << pu.interrupts << ", \"line\": " << pu.line
         << ", \"line_share\": " << pu.line_share << ", \"line_numa\": " << pu.line_numa
         << ", \"line_steered\": " << (pu.line_steered ? "true" : "false")
         << ", \"steered_to\": " << (pu.steered_to ? "true" : "false")
         << ", \"isolated\": " << (pu.isolated ? "true" : "false") << ", \"clock\": " << pu.clock
         << ", \"capacity\": " << pu.capacity << ", \"clock_limit\": ";
    show_optional(line, pu.clock_limit);
    line << ", \"throttled\": ";
    show_optional(line, pu.throttled);
    line << '}';
}

void show(const Sample &sample) {
    std::cout.precision(17);
    std::cout << "{\"at\": " << sample.at << ", \"ranks\": " << list(sample.ranks, show_rank)
              << ", \"pus\": " << list(sample.pus, show_pu) << ", \"memory_bytes\": "
              << list(sample.memory_bytes, [](auto &out, auto value) { show_number(out, value); })
              << ", \"counted_at_memory\": " << (sample.counted_at_memory ? "true" : "false")
              << ", \"movers\": "
              << list(sample.movers,
                      [](std::ostream &out, const std::string &mover) { out << '"' << mover << '"'; })
              << ", \"no_journal\": \"" << sample.no_journal << "\"}" << std::endl;
}

Change change_of(std::istream &words, LinuxSystem &system) {
    Change change;
    std::int32_t process = 0;
    std::string from, to;
    while (words >> process >> from >> to) {
        TaskId id{process, 0};
        for (const auto &rank : system.ranks()) {
            id = rank.process.number == process ? rank.process : id;
        }
        change.moves.push_back({id, pus(from), pus(to)});
    }
    return change;
}

void do_line(const std::string &line, LinuxSystem &system) {
    std::istringstream words(line);
    std::string what, to;
    std::int32_t number = 0, count = 0;
    words >> what;
    if (what == "sample" || what == "light") {
        show(system.sample(what == "light"));
    } else if (what == "units") {
        static Seconds due = 0;
        for (const Seconds before = due; (due = system.look_at_units()) == before;) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::cout << std::endl;
    } else if (what == "movers") {
        show(system.sample_with_movers());
    } else if (what == "move") {
        std::cout << system.apply(change_of(words, system)) << std::endl;
    } else if (what == "irq") {
        Change change;
        while (words >> number >> to) {
            change.interrupts.push_back({number, {}, to == "back" ? PuSet() : pus(to)});
        }
        std::cout << system.apply(change) << std::endl;
    } else if (what == "pages") {
        words >> number >> count;
        std::int32_t from_numa = 0;
        words >> from_numa;
        Change change = change_of(words, system);
        change.pages.push_back({{number, read_task_stat("/proc", number)->start}, from_numa, count});
        const auto problem = system.apply(change);
        int steps = 0;
        while (system.go_on()) {
            ++steps;
        }
        std::cout << (problem.empty() ? std::to_string(steps) : problem) << std::endl;
    } else if (what == "mixed") { // an interrupt and ranks
        words >> number >> to;
        Change change = change_of(words, system);
        change.interrupts.push_back({number, {}, pus(to)});
        std::cout << system.apply(change) << std::endl;
    } else if (what == "stuck") {
        std::cout << system.is_stuck() << std::endl;
    } else if (what == "undo") {
        std::cout << system.undo() << std::endl;
    } else if (what == "back") { // processes get what they had
        std::vector<TaskId> processes;
        while (words >> number) {
            processes.push_back({number, read_task_stat("/proc", number)->start});
        }
        std::cout << system.give_back(processes) << std::endl;
    } else if (what == "mask") { // of a process, a thread that may be another's by now
        std::int32_t thread = 0;
        words >> number >> thread >> to;
        const auto task = "/proc/" + std::to_string(number) + "/task";
        const Descriptor opened(open(task.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        std::cout << set_affinity("/proc", opened.number(), thread, pus(to)) << std::endl;
    } else if (what == "bound") { // within what the tuner gave a rank, in exchange for what it had
        std::string after, original;
        words >> to >> after >> original;
        const auto mask = pus(to), set = pus(after), had = pus(original);
        std::cout << (is_bound_within(mask, set, had) ? format_pu_list(exchanged(mask, set, had)) : "no")
                  << std::endl;
    } else if (what == "births") { // of threads in a directory that is like /proc/N/task
        words >> to;
        const Descriptor task(open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        while (words >> number) {
            births.watch(task.number(), number);
        }
        std::cout << (births.are_listed(task.number()) ? "listed" : "not yet") << std::endl;
    } else if (what == "restore") {
        std::cout << given_back_text(system.restore()) << std::endl;
    } else if (what == "disk") { // the next records are on it once somebody has opened each one's FIFO
        while (words >> to) {
            gates.push_back(to);
        }
        std::cout << std::endl;
    } else if (what == "guard") {
        std::cout << system.watch_guard() << std::endl;
    } else if (what == "usable") {
        TaskId process;
        words >> process.number;
        std::cout << format_pu_list(system.usable(process)) << std::endl;
    } else if (what == "limits") {
        const auto &limits = system.limits();
        std::cout << "{\"clock\": ";
        show_optional(std::cout, limits.clock);
        std::cout << ", \"throttled\": ";
        show_optional(std::cout, limits.throttled);
        std::cout << ", \"power\": "
                  << list(limits.power,
                          [](auto &out, const auto &power) {
                              out << "[\"" << power.zone << "\", " << power.watts << ']';
                          })
                  << ", \"queues\": "
                  << list(limits.queues, [](auto &out, const auto &text) { out << '"' << text << '"'; })
                  << ", \"unknown\": "
                  << list(limits.unknown, [](auto &out, const auto &text) { out << '"' << text << '"'; })
                  << '}' << std::endl;
    } else if (what == "notes") {
        for (const auto &note : system.notes()) {
            std::cout << note << "; ";
        }
        std::cout << std::endl;
    } else if (what == "time") { // seconds of each of so many samples
        words >> to >> count;
        for (int i = 0; i < count; ++i) {
            const auto began = system.now();
            system.sample(to == "light");
            std::cout << system.now() - began << ' ';
        }
        std::cout << std::endl;
    } else {
        std::cout << "what is " << what << std::endl;
    }
}

void read_file(const std::string &kind, const std::string &path) {
    Text file;
    if (!file.read(path)) {
        return;
    }
    const std::string text(file.view()); // of its own size, so that what is read behind it is found
    const std::vector<int> index{0, 1, 2, 3};
    std::vector<PuSample> pus(4);
    if (kind == "journal") {
        const auto content = parse_journal(text);
        std::cout << list(content.threads, [](std::ostream &out, const auto &item) {
            out << "[" << item.second.thread.number << ", \"" << format_pu_list(item.second.original)
                << "\", \"" << format_pu_list(item.second.before) << "\", \""
                << format_pu_list(item.second.after) << "\"]";
        }) << std::endl;
    } else if (kind == "plan") {
        try {
            const auto plan = parse_plan(text, "plan");
            std::cout << plan.node.pus.size() << ' ' << plan.pids.size() << ' ' << plan.policy.windows << ' '
                      << plan.policy.period << ' ' << plan.node.links.size() << ' ' << plan.pages
                      << std::endl;
        } catch (const rankwise::Error &error) {
            std::cout << "error: " << error.what() << std::endl;
        }
    } else if (kind == "page") {
        rw_tune_page page{};
        text.copy(reinterpret_cast<char *>(&page), sizeof page);
        const auto owner = owner_of(page);
        std::cout << (owner ? progress_of(rankwise::tune::progress_of(page, tick_moment(), true)) : "null")
                  << std::endl;
    } else if (kind == "proc") {
        parse_task_stat(text);
        parse_numa_maps(text);
        parse_code_ranges(text);
        parse_pu_list(text);
        parse_pu_times(text, 0.01, index, pus);
        parse_interrupts(text, index, pus);
        ranges_elsewhere(text, text, 0);
    } else if (kind == "elsewhere") { // ranges of maps, a line `--` and numa_maps
        const auto middle = std::min(text.find("--\n"), text.size());
        const std::string_view whole(text);
        std::cout << list(ranges_elsewhere(whole.substr(0, middle), whole.substr(middle), 0),
                          [](auto &out, const auto &range) {
                              out << '[' << range.begin << ", " << range.bytes << ", " << range.page_bytes
                                  << ']';
                          })
                  << std::endl;
    } else if (kind == "numa_maps") { // behind a status and a line `--`, where there is one
        const auto middle = text.find("--\n");
        const std::string_view whole(text);
        const auto pages = middle == std::string::npos
                               ? parse_numa_maps(whole)
                               : parse_numa_maps(whole.substr(middle + 3),
                                                 memories_in_status(whole.substr(0, middle)).value());
        const auto show = [](auto &out, auto value) { show_number(out, value); };
        std::cout << '[' << list(pages.on, show) << ", " << pages.bound << ", " << list(pages.bound_to, show)
                  << ']' << std::endl;
    } else if (kind == "interrupts") {
        parse_interrupts(text, index, pus);
        std::cout << list(pus, show_pu) << std::endl;
    }
}

void move_pages(const std::string &proc, std::int32_t to_numa, const std::vector<std::int32_t> &processes) {
    std::vector<Change::Pages> moves;
    for (const auto number : processes) {
        moves.push_back({{number, read_task_stat(proc, number)->start}, 0, to_numa});
    }
    PageMoves pages(moves, proc);
    while (!pages.done()) {
        pages.step();
    }
    for (const auto &trouble : pages.troubles()) {
        std::cout << trouble << std::endl;
    }
}

} // namespace

extern "C" int fdatasync(int file) {
    if (!gates.empty()) {
        const auto gate = gates.front();
        gates.pop_front();
        const Descriptor opened(open(gate.c_str(), O_RDONLY));
    }
    return static_cast<int>(syscall(SYS_fdatasync, file));
}

int main(int argc, char **argv) {
    if (argc > 3 && std::string(argv[1]) == "--read") {
        for (int i = 3; i < argc; ++i) {
            read_file(argv[2], argv[i]);
        }
        return 0;
    }
    if (argc > 4 && std::string(argv[1]) == "--pages") {
        std::vector<std::int32_t> processes;
        for (int i = 4; i < argc; ++i) {
            processes.push_back(std::stoi(argv[i]));
        }
        move_pages(argv[2], std::stoi(argv[3]), processes);
        return 0;
    }
    try {
        LinuxSystem system(read_plan(argv[1]));
        std::cout << "ready" << std::endl;
        for (std::string line; std::getline(std::cin, line) && line != "end";) {
            do_line(line, system);
        }
        system.restore();
        return 0;
    } catch (const rankwise::Error &error) {
        std::cout << "error: " << error.what() << std::endl;
        return 1;
    }
}
