// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

#include "error.hpp"
#include "simulated_system.hpp"

namespace rankwise::tune::simulated {

namespace {

std::map<std::string, std::string> pairs(std::istringstream &words) {
    std::map<std::string, std::string> found;
    for (std::string key, value; words >> key >> value;)
        found[key] = value;
    return found;
}

std::vector<double> numbers(const std::string &text) {
    std::vector<double> found;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');)
        found.push_back(std::stod(part));
    return found;
}

Node make_node(const std::map<std::string, std::string> &given) {
    const auto number = [&](const char *key, int otherwise) {
        const auto found = given.find(key);
        return found == given.end() ? otherwise : std::stoi(found->second);
    };
    const int packages = number("packages", 1), cores = number("cores", 4), threads = number("smt", 1),
              l3_of = number("l3_of", cores), numa_of = number("numa_of", cores);
    Node node;
    for (int package = 0; package < packages; ++package)
        for (int core = 0; core < cores; ++core)
            for (int thread = 0; thread < threads; ++thread) {
                const int all = package * cores + core;
                node.pus.push_back({.os = thread * packages * cores + all,
                                    .core = all,
                                    .l2 = all,
                                    .l3 = all / l3_of,
                                    .numa = all / numa_of,
                                    .package = package});
            }
    // Roughly what MPI over shared memory has; network, node, package, NUMA node, L3, L2, core.
    for (const double per_byte : {1e-9, 5e-10, 3e-10, 3e-10, 1.5e-10, 1e-10, 1e-10})
        node.links.push_back({1e-6, per_byte});
    const auto rate = [&](const char *key) {
        const auto found = given.find(key);
        return found == given.end() ? 0.0 : std::stod(found->second);
    };
    node.memory_bytes_per_s = rate("memory");
    node.core_memory_bytes_per_s = rate("core_memory");
    node.costs_from = "a simulation";
    return node;
}

Job make_job(const std::string &name, const std::map<std::string, std::string> &given, std::uint64_t seed) {
    Job job;
    job.name = name;
    job.random.seed(seed);
    const std::map<std::string, std::function<void(const std::string &)>> known = {
        {"compute", [&](const std::string &v) { job.computation = numbers(v); }},
        {"bytes", [&](const std::string &v) { job.bytes = std::stod(v); }},
        {"moves", [&](const std::string &v) { job.moves = numbers(v); }},
        {"pattern", [&](const std::string &v) { job.pattern = v; }},
        {"noise", [&](const std::string &v) { job.noise = std::stod(v); }},
        {"resident", [&](const std::string &v) { job.bytes_of_rank = std::stod(v); }},
        {"away", [&](const std::string &v) { job.away = std::stod(v); }},
        {"out_of_phase", [&](const std::string &v) { job.out_of_phase = std::stod(v); }},
        {"page", [&](const std::string &v) { job.page = v != "0"; }},
        {"sampled", [&](const std::string &v) { job.sampled = v != "0"; }},
        {"iterations", [&](const std::string &v) { job.iterations = v != "0"; }},
        {"spins", [&](const std::string &v) { job.spins = v != "0"; }},
        {"threads", [&](const std::string &v) { job.threads = std::stoi(v); }},
        {"pinned",
         [&](const std::string &v) {
             job.pinned = v == "all" ? Job::all : v == "others" ? Job::others : Job::nothing;
         }},
        {"wanders", [&](const std::string &v) { job.wanders = std::stod(v); }},
        {"masks", [](const std::string &) {}},
        {"pus", [](const std::string &) {}},
        {"on", [](const std::string &) {}},
        {"home", [](const std::string &) {}},
        {"bound", [](const std::string &) {}},
    };
    for (const auto &[key, value] : given) {
        if (!known.contains(key))
            throw Error("a job has no `" + key + "`");
        known.at(key)(value);
    }
    job.ranks.resize(job.computation.size());
    std::vector<std::string> masks;
    if (given.contains("masks")) {
        std::istringstream sets(given.at("masks"));
        for (std::string set; std::getline(sets, set, '/');)
            masks.push_back(set);
    }
    const std::vector<double> pus = given.contains("pus") ? numbers(given.at("pus")) : std::vector<double>{};
    const std::vector<double> homes =
        given.contains("home") ? numbers(given.at("home")) : std::vector<double>{};
    const std::vector<double> bound =
        given.contains("bound") ? numbers(given.at("bound")) : std::vector<double>{};
    for (std::size_t r = 0; r < job.ranks.size(); ++r) {
        Rank &rank = job.ranks[r];
        if (given.contains("masks"))
            rank.mask = parse_pus(masks.at(r));
        else if (given.contains("on"))
            rank.mask = parse_pus(given.at("on"));
        else
            rank.mask.set(static_cast<std::size_t>(pus.at(r)));
        rank.original = rank.asked = rank.mask;
        if (!homes.empty())
            rank.home = static_cast<std::int32_t>(homes.at(r));
        if (!bound.empty())
            rank.bound_to = static_cast<std::int32_t>(bound.at(r));
    }
    return job;
}

void set_policy(Policy &policy, const std::map<std::string, std::string> &given) {
    for (const auto &[key, text] : given) {
        const double value = std::stod(text);
        if (key == "act")
            policy.act = value != 0;
        else if (key == "irq")
            policy.move_interrupts = value != 0;
        else if (key == "begin_above")
            policy.begin_above = value;
        else if (key == "end_below")
            policy.end_below = value;
        else if (key == "window")
            policy.window = value;
        else if (key == "windows")
            policy.windows = static_cast<int>(value);
        else if (key == "period")
            policy.period = value;
        else if (key == "rarest")
            policy.rarest = value;
        else
            throw Error("a policy has no `" + key + "`");
    }
}

} // namespace

Scenario read_scenario(std::istream &from) {
    Scenario scenario;
    for (std::string line; std::getline(from, line);) {
        std::istringstream words(line);
        std::string what, name;
        if (!(words >> what) || what.front() == '#')
            continue;
        if (what == "node")
            scenario.node = make_node(pairs(words));
        else if (what == "policy")
            set_policy(scenario.policy, pairs(words));
        else if (what == "seed")
            words >> scenario.seed;
        else if (what == "job") {
            words >> name;
            scenario.jobs.push_back(
                make_job(name, pairs(words), scenario.seed * 1000 + scenario.jobs.size()));
        } else if (what == "at") {
            Seconds moment = 0;
            words >> moment >> std::ws;
            std::getline(words, name);
            scenario.events.emplace_back(moment, name);
        } else if (what == "until")
            words >> scenario.until;
        else if (what == "best")
            words >> scenario.best_of;
        else
            throw Error("a scenario has no `" + what + "`");
    }
    std::stable_sort(scenario.events.begin(), scenario.events.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    return scenario;
}

} // namespace rankwise::tune::simulated
