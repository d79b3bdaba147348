// SPDX-License-Identifier: BSD-3-Clause
#include "moved_interrupts.hpp"

namespace rankwise::tune {

void MovedInterrupts::learn(const Trial &trial, Seconds now, Seconds pause) {
    for (const Change::Interrupt &interrupt : trial.attempt().change.interrupts)
        if (trial.outcome() == Trial::Outcome::kept)
            lines_[interrupt.number] = {interrupt.to, trial.attempt().group};
        else if (trial.outcome() == Trial::Outcome::failed)
            fixed_[interrupt.number] = now + pause;
}

std::set<std::int32_t> MovedInterrupts::fixed(Seconds now) {
    std::erase_if(fixed_, [&](const auto &each) { return each.second <= now; });
    std::set<std::int32_t> numbers;
    for (const auto &[number, until] : fixed_)
        numbers.insert(number);
    return numbers;
}

void MovedInterrupts::correct(Change &change) const {
    for (Change::Interrupt &interrupt : change.interrupts)
        if (const auto line = lines_.find(interrupt.number); line != lines_.end())
            interrupt.from = line->second.at;
}

void MovedInterrupts::give_back(System &system, const EventLog &log,
                                const std::function<bool(const std::string &)> &is_there,
                                const std::string &why, Seconds pause) {
    const std::set<std::int32_t> left = fixed(system.now());
    std::erase_if(lines_, [&](const auto &each) {
        const auto &[number, line] = each;
        if (is_there(line.group) || left.contains(number))
            return false;
        Change back;
        back.interrupts.push_back({number, line.at, {}});
        const std::string failed = system.apply(back);
        if (!failed.empty()) {
            log.add(Event::failed, line.group, failed);
            fixed_[number] = system.now() + pause;
            return false;
        }
        Event event;
        event.what = Event::restored;
        event.group = line.group;
        event.why = "interrupt " + std::to_string(number) + " is given back: " + why;
        event.change = std::move(back);
        log.add(std::move(event));
        return true;
    });
}

} // namespace rankwise::tune
