// SPDX-License-Identifier: BSD-3-Clause
#include "act/births.hpp"

#include <fcntl.h>
#include <optional>
#include <string>

#include "proc/tasks.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

// A thread is begun in some ten microseconds; interrupts that it serves meanwhile may count as its own time.
constexpr std::uint64_t longest_birth_ns = 5'000'000;

std::string_view read_of(int task, std::int32_t thread, const char *name, Text &text) {
    const auto path = std::to_string(thread) + "/" + name;
    const Descriptor file(openat(task, path.c_str(), O_RDONLY | O_CLOEXEC));
    return file && text.read(file.number()) ? text.view() : std::string_view();
}

/// @return how long it was on a core; none if it cannot be beginning another one now. Where the kernel does
/// not count that, too, as nothing could be waited for: it says 0, or has no such file.
std::optional<std::uint64_t> run_of_beginner(int task, std::int32_t thread) {
    Text text;
    const auto stat = parse_task_stat(read_of(task, thread, "stat", text));
    if (!stat || (stat->state != 'R' && stat->state != 'D')) {
        return std::nullopt;
    }
    auto line = read_of(task, thread, "schedstat", text);
    const auto ran = as_number(next_word(line));
    return ran && *ran > 0 ? ran : std::nullopt;
}

} // namespace

void Births::watch(int task, std::int32_t thread) {
    if (const auto ran = run_of_beginner(task, thread)) {
        parents_.push_back({thread, *ran});
    }
}

bool Births::are_listed(int task) {
    std::erase_if(parents_, [&](const Parent &parent) {
        const auto ran = run_of_beginner(task, parent.thread);
        return !ran || *ran > parent.ran + longest_birth_ns;
    });
    return parents_.empty();
}

} // namespace rankwise::tune
