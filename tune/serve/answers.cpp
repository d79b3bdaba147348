// SPDX-License-Identifier: BSD-3-Clause
#include "serve/answers.hpp"

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <unistd.h>

#include "events/json.hpp"

namespace rankwise::tune {

namespace {

constexpr std::array<std::string_view, kinds_of_events> counted{
    "Times the tuner began",
    "Ranks found",
    "Ranks that ended",
    "Observations logged",
    "Changes proposed",
    "Changes refused before they were carried out",
    "Changes of masks carried out, those that take one back included",
    "Changes whose gain was measured",
    "Changes kept",
    "Changes undone, masks that were given back meanwhile included",
    "Times another mover was found",
    "Times no other mover was left",
    "Times all masks, or an interrupt, were given back",
    "Changes that could not be carried out, or not be taken back",
    "Times the tuner stopped"};
static_assert(!counted.back().empty());

/// Of Prometheus' text format; what is no ASCII text may be half a letter, and becomes `?`.
std::string label(std::string_view text) {
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\')
            result += '\\';
        result += letter >= 0x20 && letter < 0x7f ? letter : '?';
    }
    return result + '"';
}

std::string metric(double value) {
    return std::isfinite(value) ? json_number(value) : "NaN";
}

class Metrics {
  public:
    void head(std::string_view name, std::string_view type, std::string_view help) {
        ((text_ += "# HELP rankwise_tune_").append(name) += ' ').append(help) += '\n';
        ((text_ += "# TYPE rankwise_tune_").append(name) += ' ').append(type) += '\n';
    }
    void value(std::string_view name, const std::string &labels, double value) {
        ((text_ += "rankwise_tune_").append(name) += labels + ' ').append(metric(value)) += '\n';
    }
    void one(std::string_view name, std::string_view type, std::string_view help, double of) {
        head(name, type, help);
        value(name, {}, of);
    }
    std::string text() && { return std::move(text_); }

  private:
    std::string text_;
};

} // namespace

namespace {

std::string limits_json(const Limits &limits) {
    std::string text = "{\"clock\": " + (limits.clock ? json_number(*limits.clock) : "null");
    text += ", \"throttled\": " + (limits.throttled ? std::to_string(*limits.throttled) : "null");
    text += ", \"power_w\": {";
    for (std::size_t at = 0; at < limits.power.size(); ++at) {
        text += (at ? ", " : "") + json_quoted(limits.power[at].zone) + ": ";
        text += json_number(limits.power[at].watts);
    }
    const auto list = [&](const char *name, const std::vector<std::string> &items) {
        text += std::string(", \"") + name + "\": [";
        for (std::size_t at = 0; at < items.size(); ++at)
            text += (at ? ", " : "") + json_quoted(items[at]);
        text += ']';
    };
    text += '}';
    list("queues", limits.queues);
    list("unknown", limits.unknown);
    return text + '}';
}

} // namespace

std::string status_json(const Status &status, Seconds now) {
    const auto flag = [](bool value) { return value ? "true" : "false"; };
    const OwnCost cost = own_cost(status.guard);
    std::string text = "{\"pid\": " + std::to_string(getpid());
    (text += ", \"daemon\": ") += flag(status.identity.daemon);
    (text += ", \"act\": ") += flag(status.identity.act);
    text += ", \"up_s\": " + json_number(status.began > 0 ? now - status.began : 0);
    text += ", \"began_monotonic_s\": " + json_number(status.began);
    text += ", \"began_unix_s\": " + json_number(status.began_unix);
    text += ", \"ranks\": " + std::to_string(status.ranks()) + ", \"groups\": [";
    bool first = true;
    for (const auto &[name, group] : status.groups) {
        text += std::string(first ? "" : ", ") + "{\"name\": " + json_quoted(name) +
                ", \"ranks\": " + std::to_string(group.ranks);
        if (!group.rate_of.empty())
            text += ", \"rate_per_s\": " + json_number(group.rate) +
                    ", \"rate_of\": " + json_quoted(group.rate_of);
        text += ", \"major_faults\": " + std::to_string(group.major_faults) +
                ", \"migrations\": " + std::to_string(group.migrations);
        text += '}';
        first = false;
    }
    text += "], \"counts\": {";
    for (std::size_t what = 0; what < event_names.size(); ++what)
        (text += what ? ", \"" : "\"").append(event_names[what]) +=
            "\": " + std::to_string(status.counts[what]);
    text += "}, \"cpu_s\": " + json_number(cost.cpu) + ", \"rss_bytes\": " + std::to_string(cost.rss_bytes);
    text += ", \"limits\": " + limits_json(status.limits);
    text += ", \"costs_from\": " + json_quoted(status.identity.costs_from);
    text += ", \"stands_back\": " + json_quoted(status.stands_back) + ", \"recent\": [";
    for (std::size_t at = 0; at < status.recent.size(); ++at)
        (text += at ? ", " : "") += status.recent[at].json;
    return text + "]}\n";
}

std::string stopped_json(std::size_t left, const std::string &said) {
    return "{\"left\": " + std::to_string(left) + ", \"said\": " + json_quoted(said) + "}\n";
}

namespace {

/// Names of groups have a process' number in them: as a label it would be of one job only. Users stay.
std::string user_of(std::string_view group) {
    constexpr std::string_view key = "/user-";
    const auto at = group.find(key);
    if (at == std::string_view::npos)
        return "unknown";
    group.remove_prefix(at + key.size());
    return std::string(group.substr(0, group.find('/')));
}

void user_metrics(Metrics &metrics, const Status &status) {
    struct Sums {
        std::optional<double> groups, ranks, iterations, calls;
    };
    const auto add = [](std::optional<double> &sum, double more) { sum = sum.value_or(0) + more; };
    std::map<std::string, Sums> users;
    for (const auto &[name, group] : status.groups) {
        Sums &sums = users[user_of(name)];
        add(sums.groups, 1);
        add(sums.ranks, static_cast<double>(group.ranks));
        if (!group.rate_of.empty())
            add(group.rate_of == "iterations" ? sums.iterations : sums.calls, group.rate);
    }
    const auto one = [&](std::string_view name, std::string_view help, std::optional<double> Sums::*value) {
        metrics.head(name, "gauge", help);
        for (const auto &[user, sums] : users)
            if (sums.*value)
                metrics.value(name, "{user=" + label(user) + "}", *(sums.*value));
    };
    one("groups", "Groups of ranks that may change places, by number of their user", &Sums::groups);
    one("ranks", "Ranks", &Sums::ranks);
    one("iterations_per_second", "Iterations, of all groups for which they were measured", &Sums::iterations);
    one("mpi_calls_per_second", "MPI calls, of groups without iterations for which they were measured",
        &Sums::calls);
}

} // namespace

std::string metrics_text(const Status &status, Seconds now) {
    Metrics metrics;
    for (std::size_t what = 0; what < event_names.size(); ++what)
        metrics.one(std::string(event_names[what]) + "_total", "counter", counted[what],
                    static_cast<double>(status.counts[what]));
    metrics.one("acting", "gauge", "1 if changes are carried out, 0 if they are only logged",
                status.identity.act ? 1 : 0);
    metrics.one("standing_back", "gauge",
                "1 while another mover is active, or no journal can be written, and nothing is done, else 0",
                status.stands_back.empty() ? 0 : 1);
    user_metrics(metrics, status);
    metrics.one("moved_ranks_total", "counter", "Moves of ranks, those that take one back included",
                static_cast<double>(status.moved_ranks));
    metrics.one("moved_interrupts_total", "counter", "Moves of interrupts, those that take one back included",
                static_cast<double>(status.moved_interrupts));
    metrics.one("moved_pages_total", "counter",
                "Moves of the pages of one rank, those that take one back included",
                static_cast<double>(status.moved_pages));
    if (status.last_change > 0)
        metrics.one("since_change_seconds", "gauge", "Time since a change was carried out or taken back",
                    now - status.last_change);
    const OwnCost cost = own_cost(status.guard);
    metrics.one("up_seconds", "gauge", "Time since the tuner began",
                status.began > 0 ? now - status.began : 0);
    metrics.one("cpu_seconds_total", "counter", "Processor time that the tuner and its guard took", cost.cpu);
    metrics.one("resident_memory_bytes", "gauge", "Memory that the tuner has, without its guard",
                static_cast<double>(cost.rss_bytes));
    return std::move(metrics).text();
}

} // namespace rankwise::tune
