// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "error.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

constexpr std::string_view first_line = "rankwise-tune-plan 1";
constexpr std::size_t most_links = 64;

/// @brief A line whose key is known: takes its values one after another.
class Line {
  public:
    Line(std::string_view key, std::string_view rest, std::string where)
        : key_(key), rest_(rest), where_(std::move(where)) {}

    [[noreturn]] void fail(const std::string &what) const {
        throw Error(where_ + ": `" + std::string(key_) + "` " + what, "`rankwise tune` writes this file");
    }

    std::string_view word() {
        const auto word = next_word(rest_);
        if (word.empty()) {
            fail("has too few values");
        }
        return word;
    }

    template <class Number> Number number(Number least, Number most) {
        const auto word = this->word();
        Number value{};
        const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (problem != std::errc{} || end != word.data() + word.size() ||
            !(value >= least && value <= most)) {
            fail("has `" + std::string(word) + "`, which is no number between " + shown(least) + " and " +
                 shown(most));
        }
        return value;
    }

    bool flag() { return number(0, 1) == 1; }
    double positive() { return number(0.0, 1e18); }

    /// The rest of the line: a path or a text.
    std::string text() {
        const auto begin = rest_.find_first_not_of(" \t");
        if (begin == std::string_view::npos) {
            fail("has no value");
        }
        return std::string(std::exchange(rest_, {}).substr(begin));
    }

    bool has_more() const { return rest_.find_first_not_of(" \t\n") != std::string_view::npos; }

    void end() {
        if (const auto more = next_word(rest_); !more.empty()) {
            fail("has `" + std::string(more) + "` too many");
        }
    }

  private:
    template <class Number> static std::string shown(Number value) {
        std::array<char, 32> digits{};
        return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
    }

    std::string_view key_, rest_;
    std::string where_;
};

void read_policy(Line &line, Policy &policy) {
    static const std::map<std::string_view, double Policy::*> numbers{
        {"begin_above", &Policy::begin_above}, {"end_below", &Policy::end_below},
        {"settle", &Policy::settle},           {"window", &Policy::window},
        {"moves_per_s", &Policy::moves_per_s}, {"most_moves", &Policy::most_moves},
        {"first_pause", &Policy::first_pause}, {"longest_pause", &Policy::longest_pause},
        {"period", &Policy::period},           {"rarest", &Policy::rarest},
    };
    const auto name = line.word();
    if (name == "windows") {
        policy.windows = line.number(3, 10'000); // of fewer, nothing says how they vary
        return;
    }
    const auto field = numbers.find(name);
    if (field == numbers.end()) {
        line.fail("has no field `" + std::string(name) + "`");
    }
    policy.*field->second = line.number(0.0, 1e9);
}

void read_pu(Line &line, Plan &plan) {
    constexpr auto most = static_cast<std::int32_t>(most_pus) - 1;
    Pu pu{.os = line.number(0, most)};
    for (auto *const part : {&pu.core, &pu.l2, &pu.l3, &pu.numa, &pu.package}) {
        *part = line.number(-1, part == &pu.numa ? most : INT32_MAX);
    }
    if (std::ranges::any_of(plan.node.pus, [&](const Pu &other) { return other.os == pu.os; })) {
        line.fail("has `" + std::to_string(pu.os) + "` for the second time");
    }
    plan.node.pus.push_back(pu);
}

void read_until(Line &line, Plan &plan) {
    const auto word = line.word();
    if (word != "ranks-end" && word != "stopped") {
        line.fail("is `" + std::string(word) + "`, neither `ranks-end` nor `stopped`");
    }
    plan.until_ranks_end = word == "ranks-end";
}

using Read = std::function<void(Line &, Plan &)>;

const std::map<std::string_view, Read> &keys() {
    static const std::map<std::string_view, Read> keys{
        {"act", [](Line &line, Plan &plan) { plan.policy.act = line.flag(); }},
        {"irq", [](Line &line, Plan &plan) { plan.policy.move_interrupts = line.flag(); }},
        {"pages", [](Line &line, Plan &plan) { plan.pages = line.text(); }},
        {"pid", [](Line &line, Plan &plan) { plan.pids.push_back(line.number(1, INT32_MAX)); }},
        {"pu", read_pu},
        {"link",
         [](Line &line, Plan &plan) {
             if (plan.node.links.size() == most_links) {
                 line.fail("is there too often");
             }
             const double message = line.positive();
             plan.node.links.push_back({.s_per_message = message, .s_per_byte = line.positive()});
         }},
        {"memory",
         [](Line &line, Plan &plan) {
             plan.node.memory_bytes_per_s = line.positive();
             plan.node.core_memory_bytes_per_s = line.positive();
             plan.node.memory_slowdown.clear();
             while (line.has_more()) {
                 plan.node.memory_slowdown.push_back(line.number(1.0, 1e6));
             }
         }},
        {"costs_from", [](Line &line, Plan &plan) { plan.node.costs_from = line.text(); }},
        {"state", [](Line &line, Plan &plan) { plan.state = line.text(); }},
        {"socket", [](Line &line, Plan &plan) { plan.socket = line.text(); }},
        {"events", [](Line &line, Plan &plan) { plan.events = line.text(); }},
        {"proc", [](Line &line, Plan &plan) { plan.proc = line.text(); }},
        {"sys", [](Line &line, Plan &plan) { plan.sys = line.text(); }},
        {"policy", [](Line &line, Plan &plan) { read_policy(line, plan.policy); }},
        {"until", read_until},
        {"keep", [](Line &line, Plan &plan) { plan.keep = line.flag(); }},
        {"user", [](Line &line, Plan &plan) { plan.users.push_back(line.number(0U, UINT32_MAX)); }},
        {"daemon", [](Line &line, Plan &plan) { plan.daemon = line.flag(); }},
    };
    return keys;
}

void check_order(const Policy &policy, const std::string &name) {
    const auto refuse = [&](const char *low, const char *high) {
        throw Error("`" + name + "` has a `policy " + low + "` above its `" + high + "`",
                    "`rankwise tune` writes this file");
    };
    if (policy.end_below > policy.begin_above) {
        refuse("end_below", "begin_above");
    }
    if (policy.first_pause > policy.longest_pause) {
        refuse("first_pause", "longest_pause");
    }
}

} // namespace

Plan parse_plan(std::string_view text, const std::string &name) {
    Plan plan;
    if (next_line(text) != first_line) {
        throw Error("`" + name + "` is no plan: its first line is not `" + std::string(first_line) + "`",
                    "`rankwise tune` writes this file");
    }
    for (std::size_t number = 2; !text.empty(); ++number) {
        auto rest = next_line(text);
        const auto key = next_word(rest);
        if (key.empty()) {
            continue;
        }
        const auto where = "line " + std::to_string(number) + " of `" + name + "`";
        const auto read = keys().find(key);
        Line line(key, rest, where);
        if (read == keys().end()) {
            line.fail("is no key of a plan");
        }
        read->second(line, plan);
        line.end();
    }
    if (plan.state.empty()) {
        throw Error("`" + name + "` has no `state`", "`rankwise tune` writes this file");
    }
    check_order(plan.policy, name);
    return plan;
}

Plan read_plan(const std::string &path) {
    Text text;
    if (!text.read(path)) {
        throw Error("cannot read `" + path + "`: " + std::strerror(errno),
                    "`rankwise tune` writes this file");
    }
    return parse_plan(text.view(), path);
}

} // namespace rankwise::tune
