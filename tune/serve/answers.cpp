// SPDX-License-Identifier: BSD-3-Clause
#include "serve/answers.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <unistd.h>

namespace rankwise::tune {

namespace {

constexpr std::array<std::string_view, kinds_of_events> names{
    "started",  "rank_found", "rank_gone", "seen",       "proposed", "refused", "applied",
    "measured", "kept",       "undone",    "stood_back", "restored", "failed",  "stopped"};

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
    "Changes undone",
    "Times another mover was found, or gone",
    "Times all masks were given back",
    "Changes that could not be carried out",
    "Times the tuner stopped"};

/// Inside quotes of JSON and of Prometheus' labels; what is no ASCII text may be half a letter, and becomes
/// `?`.
std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\')
            result += '\\';
        result += letter < 0x20 || letter == 0x7f ? '?' : letter;
    }
    return result + '"';
}

std::string number(double value) {
    if (!std::isfinite(value))
        return "0";
    std::array<char, 64> text{};
    const int size = std::snprintf(text.data(), text.size(), "%.9g", value);
    return {text.data(), static_cast<std::size_t>(size)};
}

class Metrics {
  public:
    void head(std::string_view name, std::string_view type, std::string_view help) {
        ((text_ += "# HELP rankwise_tune_").append(name) += ' ').append(help) += '\n';
        ((text_ += "# TYPE rankwise_tune_").append(name) += ' ').append(type) += '\n';
    }
    void value(std::string_view name, const std::string &labels, double value) {
        ((text_ += "rankwise_tune_").append(name) += labels + ' ').append(number(value)) += '\n';
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

std::string status_json(const Status &status, Seconds now) {
    const auto flag = [](bool value) { return value ? "true" : "false"; };
    const OwnCost cost = own_cost();
    std::string text = "{\"pid\": " + std::to_string(getpid());
    (text += ", \"daemon\": ") += flag(status.identity.daemon);
    (text += ", \"act\": ") += flag(status.identity.act);
    text += ", \"up_s\": " + number(status.began > 0 ? now - status.began : 0);
    text += ", \"ranks\": " + std::to_string(status.ranks()) + ", \"groups\": [";
    bool first = true;
    for (const auto &[name, group] : status.groups) {
        text += std::string(first ? "" : ", ") + "{\"name\": " + quoted(name) +
                ", \"ranks\": " + std::to_string(group.ranks);
        if (!group.rate_of.empty())
            text += ", \"rate_per_s\": " + number(group.rate) + ", \"rate_of\": " + quoted(group.rate_of);
        text += "}";
        first = false;
    }
    text += "], \"counts\": {";
    for (std::size_t what = 0; what < names.size(); ++what)
        (text += what ? ", \"" : "\"").append(names[what]) += "\": " + std::to_string(status.counts[what]);
    text += "}, \"cpu_s\": " + number(cost.cpu) + ", \"rss_bytes\": " + std::to_string(cost.rss_bytes);
    text += ", \"costs_from\": " + quoted(status.identity.costs_from);
    text += ", \"stands_back\": " + quoted(status.stands_back) + ", \"recent\": [";
    for (std::size_t at = 0; at < status.recent.size(); ++at)
        (text += at ? ", " : "") += status.recent[at];
    return text + "]}\n";
}

std::string metrics_text(const Status &status, Seconds now) {
    Metrics metrics;
    for (std::size_t what = 0; what < names.size(); ++what)
        metrics.one(std::string(names[what]) + "_total", "counter", counted[what],
                    static_cast<double>(status.counts[what]));
    metrics.one("acting", "gauge", "1 if changes are carried out, 0 if they are only logged",
                status.identity.act ? 1 : 0);
    metrics.one("groups", "gauge", "Groups of ranks that may change places",
                static_cast<double>(status.groups.size()));
    metrics.head("ranks", "gauge", "Ranks by group");
    for (const auto &[name, group] : status.groups)
        metrics.value("ranks", "{group=" + quoted(name) + "}", static_cast<double>(group.ranks));
    metrics.head("rate", "gauge", "Iterations or MPI calls a second, as last measured");
    for (const auto &[name, group] : status.groups)
        if (!group.rate_of.empty())
            metrics.value("rate", "{group=" + quoted(name) + ",of=" + quoted(group.rate_of) + "}",
                          group.rate);
    const OwnCost cost = own_cost();
    metrics.one("up_seconds", "gauge", "Time since the tuner began",
                status.began > 0 ? now - status.began : 0);
    metrics.one("cpu_seconds_total", "counter", "Processor time that the tuner took", cost.cpu);
    metrics.one("resident_memory_bytes", "gauge", "Memory that the tuner has",
                static_cast<double>(cost.rss_bytes));
    return std::move(metrics).text();
}

} // namespace rankwise::tune
