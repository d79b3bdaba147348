// SPDX-License-Identifier: BSD-3-Clause
#include "switch_port.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    MOST_BYTES = 65536 + 64,
    IP_AT = ETH_HLEN,
    SOCKET_BYTES = 32 << 20,
    SLICE_NS = 100000,
};

int open_port(const char *interface) {
    int descriptor = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return -1;
    int on = 1, bytes = SOCKET_BYTES;
    if (setsockopt(descriptor, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) ||
        setsockopt(descriptor, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on))
        return -1;
    setsockopt(descriptor, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = (int)if_nametoindex(interface),
    };
    return bind(descriptor, (struct sockaddr *)&address, sizeof address) ? -1 : descriptor;
}

// The last two bytes of a node's hardware address are its number and 2 (rankwise/lab/addresses.py).
static int port_of(const unsigned char *data, int ports) {
    int to = 256 * data[4] + data[5] - 2;
    return data[0] == 2 && to >= 0 && to < ports ? to : -1;
}

static void classify(struct frame *frame) {
    const unsigned char *ip = frame->data + IP_AT;
    frame->kind = DATA;
    frame->frames = 1;
    frame->wire_bytes = frame->bytes;
    if (frame->bytes < IP_AT + 40 || frame->data[12] != 8 || frame->data[13] != 0 || ip[9] != IPPROTO_TCP)
        return;
    uint32_t tcp_at = (ip[0] & 15u) * 4u;
    if (frame->bytes < IP_AT + tcp_at + 20)
        return;
    uint32_t headers = IP_AT + tcp_at + (ip[tcp_at + 12] >> 4) * 4u;
    if (IP_AT + 256u * ip[2] + ip[3] <= headers)
        frame->kind = ACKNOWLEDGEMENTS;
    if (frame->offload.gso_type != VIRTIO_NET_HDR_GSO_NONE && frame->offload.gso_size) {
        uint32_t payload = frame->bytes > headers ? frame->bytes - headers : 1;
        frame->frames = (payload + frame->offload.gso_size - 1) / frame->offload.gso_size;
        frame->wire_bytes += (frame->frames - 1) * headers;
    }
}

struct frame *receive_frame(int socket, int ports) {
    static unsigned char data[MOST_BYTES];
    struct virtio_net_hdr offload;
    struct iovec parts[] = {{&offload, sizeof offload}, {data, sizeof data}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT);
    if (got < (ssize_t)(sizeof offload + ETH_HLEN))
        return NULL;
    size_t bytes = (size_t)got - sizeof offload;
    struct frame *frame = malloc(sizeof *frame + bytes);
    if (!frame)
        return NULL;
    memcpy(frame->data, data, bytes);
    frame->bytes = (uint32_t)bytes;
    frame->offload = offload;
    frame->to = message.msg_flags & MSG_TRUNC ? -1 : port_of(data, ports);
    classify(frame);
    return frame;
}

int send_frame(int socket, const struct frame *frame) {
    struct iovec parts[] = {
        {(void *)&frame->offload, sizeof frame->offload},
        {(void *)frame->data, frame->bytes},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(socket, &message, 0) >= 0;
}

void be_punctual(void) {
    struct sched_param priority = {.sched_priority = 1};
    if (!sched_setscheduler(0, SCHED_FIFO, &priority))
        return;
    // A short slice is served early among processes that have none (Linux 6.12, EEVDF).
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } slice = {.size = sizeof slice, .runtime = SLICE_NS};
    syscall(SYS_sched_setattr, 0, &slice, 0);
}
