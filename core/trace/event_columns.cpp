// SPDX-License-Identifier: BSD-3-Clause
#include "trace/event_columns.hpp"

namespace rankwise::trace {

EventColumns decode(const PackedTrace &trace) {
    EventColumns columns;
    EventReader reader(trace);
    for (Event event; reader.next(event);) {
        columns.kind.push_back(event.kind);
        columns.gap_ticks.push_back(event.gap_ticks);
        columns.duration_ticks.push_back(event.duration_ticks);
        columns.gap_cpu_ns.push_back(event.gap_cpu_ns);
        columns.comm.push_back(event.comm);
        columns.send_peer.push_back(event.send.peer);
        columns.send_tag.push_back(event.send.tag);
        columns.send_bytes.push_back(event.send.bytes);
        columns.posted_peer.push_back(event.recv.posted_peer);
        columns.posted_tag.push_back(event.recv.posted_tag);
        columns.recv_peer.push_back(event.recv.message.peer);
        columns.recv_tag.push_back(event.recv.message.tag);
        columns.recv_bytes.push_back(event.recv.message.bytes);
        columns.request.push_back(event.request);
        columns.root.push_back(event.collective.root);
        columns.flags.push_back(event.collective.flags);
        columns.datatype_bytes.push_back(event.collective.datatype_bytes);
        columns.bytes.push_back(event.collective.bytes);
        columns.bytes2.push_back(event.collective.bytes2);
        columns.count.push_back(event.count);
        columns.runqueue_wait_ns.push_back(event.runqueue_wait_ns);
        columns.cpu_ns.push_back(event.cpu_ns);
        for (const auto &completion : event.completions) {
            columns.completion_request.push_back(completion.request);
            columns.completion_is_receive.push_back(completion.is_receive ? 1 : 0);
            columns.completion_peer.push_back(completion.received.peer);
            columns.completion_tag.push_back(completion.received.tag);
            columns.completion_bytes.push_back(completion.received.bytes);
        }
        columns.sizes.insert(columns.sizes.end(), event.collective.sizes.begin(),
                             event.collective.sizes.end());
        const auto &destinations = event.collective.destinations;
        columns.size_destination.insert(columns.size_destination.end(), destinations.begin(),
                                        destinations.end());
        columns.size_destination.resize(columns.sizes.size(), -1);
        columns.completion_offsets.push_back(columns.completion_request.size());
        columns.size_offsets.push_back(columns.sizes.size());
    }
    columns.problem = reader.problem();
    return columns;
}

} // namespace rankwise::trace
