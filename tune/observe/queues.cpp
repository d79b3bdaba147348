// SPDX-License-Identifier: BSD-3-Clause
#include "observe/queues.hpp"

#include <algorithm>
#include <charconv>
#include <dirent.h>
#include <memory>
#include <sys/stat.h>
#include <utility>

#include "observe/rank_page.hpp"
#include "proc/pu_list.hpp"

namespace rankwise::tune {
namespace {

// A status is read by people: of more interrupts or queues of an interface their number is said.
constexpr std::size_t most_named = 8;

std::vector<std::string> entries(const std::string &directory) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR *)> listing(opendir(directory.c_str()), closedir);
    while (const dirent *const entry = listing ? readdir(listing.get()) : nullptr) {
        if (entry->d_name[0] != '.') {
            names.emplace_back(entry->d_name);
        }
    }
    std::ranges::sort(names, [](const auto &a, const auto &b) {
        return a.size() != b.size() ? a.size() < b.size() : a < b; // rx-2 before rx-10
    });
    return names;
}

std::string word_of(Text &text, const std::string &path) {
    if (!text.read(path)) {
        return {};
    }
    auto line = text.view();
    return std::string(next_word(line));
}

std::string joined(const std::vector<std::string> &parts) {
    std::string text;
    for (std::size_t at = 0; at < std::min(parts.size(), most_named); ++at) {
        text += (at > 0 ? ", " : "") + parts[at];
    }
    return parts.size() > most_named ? text + " and " + std::to_string(parts.size() - most_named) + " more"
                                     : text;
}

} // namespace

bool has_own_network(const std::string &proc) {
    struct stat own{}, first{};
    return stat((proc + "/self/ns/net").c_str(), &own) == 0 &&
           stat((proc + "/1/ns/net").c_str(), &first) == 0 && own.st_ino != first.st_ino;
}

std::optional<PuSet> parse_pu_mask(std::string_view text) {
    PuSet set;
    std::size_t bit = 0;
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
        text.remove_suffix(1);
    }
    for (; !text.empty(); text.remove_suffix(1)) {
        if (text.back() == ',') {
            continue;
        }
        unsigned digit = 0;
        if (std::from_chars(&text.back(), &text.back() + 1, digit, 16).ec != std::errc{}) {
            return std::nullopt;
        }
        for (std::size_t at = 0; at < 4; ++at) {
            if ((digit >> at & 1U) != 0) {
                if (bit + at >= most_pus) {
                    return std::nullopt;
                }
                set.set(bit + at);
            }
        }
        bit += 4;
    }
    return set;
}

void QueueReader::look_at(const std::string &interface, Text &text) {
    const std::string place = sys_ + "/class/net/" + interface;
    std::vector<std::int32_t> numbers;
    // Of a PCI device, and of one behind it, as virtio's.
    for (const auto *const of : {"/device/msi_irqs", "/device/../msi_irqs"}) {
        for (const auto &name : entries(place + of)) {
            if (const auto number = as_number(name);
                number && *number <= INT32_MAX && numbers.size() < 4096) {
                numbers.push_back(static_cast<std::int32_t>(*number));
            }
        }
        if (!numbers.empty()) {
            break;
        }
    }
    std::vector<std::string> interrupts;
    for (const auto number : numbers) {
        const auto irq = proc_ + "/irq/" + std::to_string(number);
        const auto allowed = word_of(text, irq + "/smp_affinity_list"),
                   effective = word_of(text, irq + "/effective_affinity_list");
        if (allowed.empty()) {
            continue;
        }
        std::string name = "interrupt " + std::to_string(number) + " on PU ";
        name += effective.empty() ? allowed : effective;
        if (!effective.empty() && effective != allowed) {
            name += " of " + allowed;
        }
        interrupts.push_back(std::move(name));
    }
    PuSet to;
    std::map<std::string, std::vector<std::string>> queues; // by where they are steered to
    const auto folder = place + "/queues/";
    for (const auto &queue : entries(folder)) {
        auto mask_file = folder;
        mask_file.append(queue).append("/rps_cpus");
        if (!queue.starts_with("rx-") || !text.read(mask_file)) {
            continue;
        }
        if (const auto mask = parse_pu_mask(text.view()); mask && mask->any()) {
            to |= *mask;
            queues[format_pu_list(*mask)].push_back(queue);
        }
    }
    std::string steering;
    for (const auto &[units, names] : queues) {
        steering.append(steering.empty() ? "" : "; ").append(joined(names));
        steering.append(" handed on to PU ").append(units).append(" (RPS)");
    }
    if (interrupts.empty() && steering.empty()) {
        return;
    }
    for (const auto number : numbers) {
        queues_.steered[number] = to;
    }
    queues_.steered_to |= to;
    queues_.rps[interface] = steering;
    std::string sentence = interface + ": " + joined(interrupts);
    sentence += (interrupts.empty() || steering.empty() ? "" : "; ") + steering;
    queues_.sentences.push_back(sentence + (steering.empty() ? "; not handed on (no RPS)" : ""));
}

void QueueReader::look(Text &text) {
    queues_ = {};
    for (const auto &interface : entries(sys_ + "/class/net")) {
        look_at(interface, text);
    }
}

const Queues &QueueReader::read(Text &text) {
    const auto began = tick_moment().at;
    if (due_.due(began)) {
        look(text);
        due_.done(began, tick_moment().at);
    }
    return queues_;
}

std::vector<std::string> QueueReader::changed() {
    std::vector<std::string> sentences;
    for (const auto &sentence : queues_.sentences) {
        const auto interface = sentence.substr(0, sentence.find(": "));
        const auto &now = queues_.rps.at(interface);
        // Interrupts go to and fro where irqbalance runs: only the status follows them.
        const auto [before, is_new] = said_.try_emplace(interface, now);
        if (is_new || before->second != now) {
            before->second = now;
            sentences.push_back(sentence);
        }
    }
    return sentences;
}

} // namespace rankwise::tune
