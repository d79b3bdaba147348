// SPDX-License-Identifier: BSD-3-Clause
#include <sstream>
#include <string>

#include "error.hpp"
#include "simulated_system.hpp"

namespace rankwise::tune::simulated {

PuSet parse_pus(const std::string &text) {
    PuSet found;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const auto dash = part.find('-');
        const auto first = std::stoul(part.substr(0, dash));
        const auto last = dash == std::string::npos ? first : std::stoul(part.substr(dash + 1));
        for (auto pu = first; pu <= last; ++pu)
            found.set(pu);
    }
    return found;
}

void SimulatedSystem::happen(const std::string &line) {
    std::istringstream words(line);
    std::string what, name;
    words >> what >> name;
    settled_ = false;
    const auto number = [&] {
        double value = 0;
        words >> value;
        return value;
    };
    if (what == "line") {
        Line added;
        added.unit = added.original = static_cast<std::int32_t>(number());
        added.takes = number();
        for (std::string word; words >> word;)
            if (word == "fixed")
                added.fixed = true;
            else if (word == "steered")
                added.steered = true;
            else
                added.numa = std::stoi(word);
        core(added.unit).interrupts += added.takes;
        lines_.insert_or_assign(std::stoi(name), added);
    } else if (what == "fixed") // as its driver is unloaded, or its controller changes its mind
        lines_.at(std::stoi(name)).fixed = true;
    else if (what == "movable")
        lines_.at(std::stoi(name)).fixed = false;
    else if (what == "irq")
        core(std::stoi(name)).interrupts = number();
    else if (what == "steal")
        core(std::stoi(name)).stolen = number();
    else if (what == "others")
        core(std::stoi(name)).others = number();
    else if (what == "capacity")
        core(std::stoi(name)).capacity = number();
    else if (what == "clock")
        core(std::stoi(name)).clock = number();
    else if (what == "clocks") // are read so often
        clocks_every_ = std::stod(name);
    else if (what == "steered") // packets are handed on to it (RPS)
        core(std::stoi(name)).steered_to = true;
    else if (what == "isolated")
        core(std::stoi(name)).isolated = true;
    else if (what == "stuck" || what == "loose") // all masks cannot be given back, or one, and can be again
        (name.empty() ? stuck_ : job(name).ranks.at(static_cast<std::size_t>(number())).is_stuck) =
            what == "stuck";
    else if (what == "refuses" || what == "allows") // that a rank's mask is set by the tuner
        job(name).ranks.at(static_cast<std::size_t>(number())).is_fixed = what == "refuses";
    else if (what == "journal") // is gone, or back
        no_journal_ = name == "gone" ? "the journal is gone" : "";
    else if (what == "mover")
        movers_.insert(name);
    else if (what == "nomover")
        movers_.erase(name);
    else if (what == "jump")
        now_ += std::stod(name);
    else if (what == "online" || what == "offline") {
        online_.set(std::stoul(name), what == "online");
        for (Job &each : jobs_)
            if (each.running)
                cut_anew(each);
    } else if (what == "start") {
        Job &started = job(name);
        started.running = true;
        for (Rank &rank : started.ranks) {
            rank.process = {next_process_, static_cast<std::uint64_t>(next_process_)};
            ++next_process_;
            rank.seen_home = rank.home;
            cpusets_[name] |= rank.asked;
        }
        cut_anew(started);
    } else if (what == "end")
        job(name).running = false;
    else if (what == "suspend")
        job(name).suspended = true;
    else if (what == "resume")
        job(name).suspended = false;
    else if (what == "joins" || what == "sleeps" || what == "waits" || what == "works")
        job(name).ranks.at(static_cast<std::size_t>(number())).does = what == "joins"    ? Rank::takes_part
                                                                      : what == "sleeps" ? Rank::sleeps
                                                                      : what == "waits"  ? Rank::waits
                                                                                         : Rank::works;
    else if (what == "pageless")
        job(name).ranks.at(static_cast<std::size_t>(number())).page = false;
    else if (what == "counts") { // memory traffic: `traffic` of caches, or of `controllers`
        counts_traffic_ = true;
        at_memory_ = name == "controllers";
    } else if (what == "pages") { // a rank has made others, or freed some: most are on this NUMA node now
        Rank &rank = job(name).ranks.at(static_cast<std::size_t>(number()));
        rank.home = static_cast<std::int32_t>(number());
    } else if (what == "leaves") { // as a worker that is done
        Rank &rank = job(name).ranks.at(static_cast<std::size_t>(number()));
        rank.alive = false;
        rank.left = true;
        rank.does = Rank::sleeps;
    } else if (what == "kill")
        job(name).ranks.at(static_cast<std::size_t>(number())).alive = false;
    else if (what == "compute") {
        for (double &each : job(name).computation)
            each = number();
    } else if (what == "threads")
        job(name).threads = static_cast<int>(number());
    else if (what == "mask") {
        Rank &rank = job(name).ranks.at(static_cast<std::size_t>(number()));
        std::string pus;
        words >> pus;
        if (!ask(job(name), rank, parse_pus(pus)))
            return; // nor is what was asked for before forgotten
        rank.original = rank.asked;
        rank.is_tuners = false;
        allowed_[name] |= rank.mask;
    } else if (what == "cpuset") {
        std::string pus;
        words >> pus;
        cpusets_[name] = parse_pus(pus);
        cut_anew(job(name));
    } else
        throw Error("`" + what + "` cannot happen");
}

} // namespace rankwise::tune::simulated
