// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/request_outcomes.hpp"

namespace rankwise::replay {

using trace::CallClass;

std::optional<trace::Completion> RequestOutcomes::next(std::int64_t request) {
    auto found = ended_.find(request);
    for (trace::Event event; found == ended_.end() && reader_.next(event); found = ended_.find(request))
        take(event);
    if (found == ended_.end())
        return std::nullopt;
    const auto outcome = found->second.front();
    found->second.pop_front();
    if (found->second.empty())
        ended_.erase(found);
    return outcome;
}

void RequestOutcomes::take(const trace::Event &event) {
    switch (event.call_class) {
    case CallClass::irecv:
    case CallClass::isendrecv:
    case CallClass::recv_init:
        receives_[event.request] = event.call_class == CallClass::recv_init;
        break;
    case CallClass::complete:
        for (const trace::Completion &completion : event.completions)
            if (const auto found = receives_.find(completion.request); found != receives_.end()) {
                ended_[completion.request].push_back(completion);
                if (!found->second)
                    receives_.erase(found);
            }
        break;
    case CallClass::request_free:
        if (receives_.erase(event.request) > 0)
            ended_[event.request].push_back(std::nullopt);
        break;
    default:
        break;
    }
}

} // namespace rankwise::replay
