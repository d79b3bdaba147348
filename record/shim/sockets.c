/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libc's socket calls, counted where they are on connected TCP and UDP sockets while MPI is recorded
 * (network/network.h).
 *
 * Every process that the shim is preloaded into comes through here for all its reads and writes: as long as
 * nothing is recorded, and for descriptors that are no such sockets, a call costs a load and a jump more.
 * Nothing is allocated and nothing waits, so signal handlers may call what they might call anyway; errno is
 * as libc left it.
 *
 * What a descriptor is, is asked when it is first used, and forgotten when it is closed or given out again.
 * Closes that are not seen (those inside of libc, as fclose's, and system calls made by hand) leave what was
 * known until then.
 */
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "network/network.h"
#include "process/ticks.h"
#include "shim/transports.h"

#define EXPORT __attribute__((visibility("default")))
#define A_RUN RW_NETWORK_A_RUN(struct rw_network_peer)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum { MOST_DESCRIPTORS = 1 << 16, NOT_ASKED = 0, NO_SOCKET = 1, FIRST_PEER = 2, BLOCKS = 1 << 15 };

/* What a descriptor is: a peer's entry + FIRST_PEER, | BLOCKS if calls on it may sleep, or one of the above.
 */
static uint16_t known[MOST_DESCRIPTORS];

/* Result, name, parameters, arguments of each function that moves data: `done` bytes, or less than 1. */
#define CALLS(X)                                                                                             \
    X(ssize_t, read, RECEIVE, (int fd, void *to, size_t bytes), (fd, to, bytes))                             \
    X(ssize_t, readv, RECEIVE, (int fd, const struct iovec *to, int count), (fd, to, count))                 \
    X(ssize_t, recv, RECEIVE, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags))           \
    X(ssize_t, recvfrom, RECEIVE,                                                                            \
      (int fd, void *to, size_t bytes, int flags, __SOCKADDR_ARG from, socklen_t *size),                     \
      (fd, to, bytes, flags, from, size))                                                                    \
    X(ssize_t, recvmsg, RECEIVE, (int fd, struct msghdr *message, int flags), (fd, message, flags))          \
    X(ssize_t, __read_chk, RECEIVE, (int fd, void *to, size_t bytes, size_t room), (fd, to, bytes, room))    \
    X(ssize_t, __recv_chk, RECEIVE, (int fd, void *to, size_t bytes, size_t room, int flags),                \
      (fd, to, bytes, room, flags))                                                                          \
    X(ssize_t, __recvfrom_chk, RECEIVE,                                                                      \
      (int fd, void *to, size_t bytes, size_t room, int flags, __SOCKADDR_ARG from, socklen_t *size),        \
      (fd, to, bytes, room, flags, from, size))                                                              \
    X(ssize_t, write, SEND, (int fd, const void *from, size_t bytes), (fd, from, bytes))                     \
    X(ssize_t, writev, SEND, (int fd, const struct iovec *from, int count), (fd, from, count))               \
    X(ssize_t, send, SEND, (int fd, const void *from, size_t bytes, int flags), (fd, from, bytes, flags))    \
    X(ssize_t, sendto, SEND,                                                                                 \
      (int fd, const void *from, size_t bytes, int flags, __CONST_SOCKADDR_ARG to, socklen_t size),          \
      (fd, from, bytes, flags, to, size))                                                                    \
    X(ssize_t, sendmsg, SEND, (int fd, const struct msghdr *message, int flags), (fd, message, flags))

/* Those that look at many descriptors, and whether they may sleep until something comes. */
#define MAY_SLEEP(timeout, fraction) (!(timeout) || (timeout)->tv_sec || (timeout)->fraction)
#define WAITS(X)                                                                                             \
    X(poll, timeout, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))                \
    X(__poll_chk, timeout, (struct pollfd * fds, nfds_t count, int timeout, size_t room),                    \
      (fds, count, timeout, room))                                                                           \
    X(ppoll, MAY_SLEEP(timeout, tv_nsec),                                                                    \
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),             \
      (fds, count, timeout, mask))                                                                           \
    X(__ppoll_chk, MAY_SLEEP(timeout, tv_nsec),                                                              \
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask,              \
       size_t room),                                                                                         \
      (fds, count, timeout, mask, room))                                                                     \
    X(epoll_wait, timeout, (int fd, struct epoll_event *events, int most, int timeout),                      \
      (fd, events, most, timeout))                                                                           \
    X(epoll_pwait, timeout,                                                                                  \
      (int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask),                     \
      (fd, events, most, timeout, mask))                                                                     \
    X(select, MAY_SLEEP(timeout, tv_usec),                                                                   \
      (int count, fd_set *to_read, fd_set *to_write, fd_set *failed, struct timeval *timeout),               \
      (count, to_read, to_write, failed, timeout))                                                           \
    X(pselect, MAY_SLEEP(timeout, tv_nsec),                                                                  \
      (int count, fd_set *to_read, fd_set *to_write, fd_set *failed, const struct timespec *timeout,         \
       const sigset_t *mask),                                                                                \
      (count, to_read, to_write, failed, timeout, mask))

/* Those that give out a descriptor: whatever it was known as is over. */
#define GIVES(X)                                                                                             \
    X(socket, (int domain, int type, int protocol), (domain, type, protocol))                                \
    X(accept, (int fd, __SOCKADDR_ARG from, socklen_t *size), (fd, from, size))                              \
    X(accept4, (int fd, __SOCKADDR_ARG from, socklen_t *size, int flags), (fd, from, size, flags))           \
    X(dup, (int fd), (fd))                                                                                   \
    X(dup2, (int fd, int as), (fd, as))                                                                      \
    X(dup3, (int fd, int as, int flags), (fd, as, flags))

/* Those after which a descriptor is something else. */
#define CHANGES(X)                                                                                           \
    X(connect, (int fd, __CONST_SOCKADDR_ARG to, socklen_t size), (fd, to, size))                            \
    X(close, (int fd), (fd))

/* Those that move several messages, and give how many. */
#define MANY(X)                                                                                              \
    X(sendmmsg, SEND, (int fd, struct mmsghdr *messages, unsigned count, int flags),                         \
      (fd, messages, count, flags))                                                                          \
    X(recvmmsg, RECEIVE,                                                                                     \
      (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),               \
      (fd, messages, count, flags, timeout))

#define NEXT_DATA(result, name, kind, parameters, arguments) result(*name) parameters;
#define NEXT_KIND(name, kind, parameters, arguments) int(*name) parameters;
#define NEXT_INT(name, parameters, arguments) int(*name) parameters;
static struct {
    CALLS(NEXT_DATA)
    WAITS(NEXT_KIND)
    GIVES(NEXT_INT)
    CHANGES(NEXT_INT)
    MANY(NEXT_KIND)
    int (*fcntl)(int fd, int command, void *argument);
    int (*fcntl64)(int fd, int command, void *argument);
    int (*ioctl)(int fd, unsigned long request, void *argument);
} next;

/*
 * The function behind this one. All are looked up when the process starts; earlier callers, constructors of
 * other libraries, look up their own.
 */
#define FIND(name)                                                                                           \
    (UNLIKELY(!next.name) ? (next.name = (__typeof__(next.name))(uintptr_t)dlsym(RTLD_NEXT, #name))          \
                          : next.name)

__attribute__((constructor)) static void find_all(void) {
#define FIND_DATA(result, name, kind, parameters, arguments) (void)FIND(name);
#define FIND_KIND(name, kind, parameters, arguments) (void)FIND(name);
#define FIND_INT(name, parameters, arguments) (void)FIND(name);
    CALLS(FIND_DATA)
    WAITS(FIND_KIND)
    GIVES(FIND_INT)
    CHANGES(FIND_INT)
    MANY(FIND_KIND)
    (void)FIND(fcntl);
    (void)FIND(fcntl64);
    (void)FIND(ioctl);
    dlerror(); /* the program must not find our failures */
}

static int is_on(void) {
    return __atomic_load_n(&rw_shim_network.on, __ATOMIC_ACQUIRE);
}

static void forget(int fd) {
    if (fd >= 0 && fd < MOST_DESCRIPTORS && is_on())
        __atomic_store_n(&known[fd], NOT_ASKED, __ATOMIC_RELAXED);
}

/* As in rw_network_peer; @return whether it is an address of a network at all. */
static int write_address(uint8_t to[16], const struct sockaddr_storage *from) {
    if (from->ss_family == AF_INET6) {
        memcpy(to, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
        return 1;
    }
    if (from->ss_family != AF_INET)
        return 0;
    memset(to, 0, 10);
    memset(to + 10, 0xff, 2);
    memcpy(to + 12, &((const struct sockaddr_in *)from)->sin_addr, 4);
    return 1;
}

static struct rw_network_peer *entry_at(uint32_t at) {
    return (struct rw_network_peer *)(rw_shim_network.sockets.run[at / A_RUN] + 1) + at % A_RUN;
}

/* The entry of two addresses, a new one if need be; 0, that of no peer, where there is none. */
static uint32_t peer_of(const uint8_t own[16], const uint8_t peer[16]) {
    const uint32_t used = __atomic_load_n(&rw_shim_network.sockets.used, __ATOMIC_RELAXED);
    const uint32_t room = __atomic_load_n(&rw_shim_network.sockets.runs, __ATOMIC_ACQUIRE) * A_RUN;
    for (uint32_t at = 1; at < used; at++)
        if (memcmp(entry_at(at)->own, own, 16) == 0 && memcmp(entry_at(at)->peer, peer, 16) == 0)
            return at;
    if (used >= room)
        return 0;
    struct rw_network_peer *entry = entry_at(used);
    memcpy(entry->own, own, 16);
    memcpy(entry->peer, peer, 16);
    struct rw_chunk_header *run = rw_shim_network.sockets.run[used / A_RUN];
    __atomic_store_n(&run->used, (used % A_RUN + 1) * sizeof *entry, __ATOMIC_RELEASE);
    __atomic_store_n(&rw_shim_network.sockets.used, used + 1, __ATOMIC_RELEASE);
    return used;
}

/* Ask what a descriptor is. One that is not connected yet is asked again. */
static uint16_t learn(int fd) {
    const int error = errno;
    struct sockaddr_storage own, peer;
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    uint8_t own_address[16], peer_address[16];
    uint16_t what = NO_SOCKET;
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0)
        what = errno == ENOTSOCK ? NO_SOCKET : NOT_ASKED;
    else if (write_address(peer_address, &peer) && getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 &&
             write_address(own_address, &own)) {
        const uint16_t blocks = FIND(fcntl)(fd, F_GETFL, NULL) & O_NONBLOCK ? 0 : BLOCKS;
        what = NOT_ASKED;
        if (!__atomic_exchange_n(&rw_shim_network.lock, 1, __ATOMIC_ACQUIRE)) {
            what = (uint16_t)(peer_of(own_address, peer_address) + FIRST_PEER);
            what |= blocks;
            __atomic_store_n(&rw_shim_network.lock, 0, __ATOMIC_RELEASE);
        }
    }
    if (what != NOT_ASKED)
        __atomic_store_n(&known[fd], what, __ATOMIC_RELAXED);
    errno = error;
    return what;
}

/* The entry that calls on a descriptor are counted in + FIRST_PEER; 0 if they are not. */
static uint16_t counted_as(int fd) {
    if (!is_on() || fd < 0 || fd >= MOST_DESCRIPTORS)
        return 0;
    uint16_t what = __atomic_load_n(&known[fd], __ATOMIC_RELAXED);
    if (UNLIKELY(what == NOT_ASKED))
        what = learn(fd);
    return what >= FIRST_PEER ? what : 0;
}

/* A call that began before counting ended and came back afterwards is left out: what was counted is closed.
 */
static void add_timed(uint32_t peer, int kind, int timed_as, uint64_t bytes, uint64_t ticks) {
    if (!is_on())
        return;
    const int error = errno;
    struct rw_network_peer *entry = entry_at(peer);
    const int first = rw_shim_network.inside_mpi() ? RW_NETWORK_KINDS : 0, total = first + kind;
    __atomic_fetch_add(&entry->calls[total], 1, __ATOMIC_RELAXED);
    if (!rw_transport_depth) /* else it is in the time of the transport's call around this one */
        __atomic_fetch_add(&entry->ticks[first + timed_as], ticks, __ATOMIC_RELAXED);
    if (bytes)
        __atomic_fetch_add(&entry->bytes[total], bytes, __ATOMIC_RELAXED);
    errno = error;
}

static void add(uint32_t peer, int kind, uint64_t bytes, uint64_t ticks) {
    add_timed(peer, kind, kind, bytes, ticks);
}

static void add_data(uint16_t what, int kind, int sleeps, ssize_t bytes, uint64_t ticks) {
    const int as = bytes > 0 ? kind : RW_NETWORK_PROGRESS;
    add_timed((what & ~BLOCKS) - FIRST_PEER, as, sleeps ? RW_NETWORK_WAIT : as,
              bytes > 0 ? (uint64_t)bytes : 0, ticks);
}

/* Whether a receive is going to sleep: its time is waiting then. Asked of sockets that block only. */
static int will_sleep(uint16_t what, int kind, int fd, int asked) {
    if (kind != RW_NETWORK_RECEIVE || !(what & BLOCKS) || asked & MSG_DONTWAIT)
        return 0;
    const int error = errno;
    int there = 0;
    const int failed = FIND(ioctl)(fd, FIONREAD, &there);
    errno = error;
    return !failed && there == 0;
}

/* What calls without a parameter of that name have. */
enum { flags = 0 };

#define DEFINE_DATA(result, name, kind, parameters, arguments)                                               \
    EXPORT result name parameters {                                                                          \
        const uint16_t what = counted_as(fd);                                                                \
        if (!what)                                                                                           \
            return FIND(name) arguments;                                                                     \
        const uint64_t begin = rw_ticks();                                                                   \
        const int sleeps = will_sleep(what, RW_NETWORK_##kind, fd, flags);                                   \
        const result done = FIND(name) arguments;                                                            \
        add_data(what, RW_NETWORK_##kind, sleeps, done, rw_ticks() - begin);                                 \
        return done;                                                                                         \
    }
CALLS(DEFINE_DATA)

#define DEFINE_WAIT(name, sleeps, parameters, arguments)                                                     \
    EXPORT int name parameters {                                                                             \
        if (!is_on())                                                                                        \
            return FIND(name) arguments;                                                                     \
        const int kind = (sleeps) ? RW_NETWORK_WAIT : RW_NETWORK_PROGRESS;                                   \
        const uint64_t begin = rw_ticks();                                                                   \
        const int done = FIND(name) arguments;                                                               \
        add(0, kind, 0, rw_ticks() - begin);                                                                 \
        return done;                                                                                         \
    }
WAITS(DEFINE_WAIT)

#define DEFINE_GIVE(name, parameters, arguments)                                                             \
    EXPORT int name parameters {                                                                             \
        const int given = FIND(name) arguments;                                                              \
        forget(given);                                                                                       \
        return given;                                                                                        \
    }
GIVES(DEFINE_GIVE)

/* Forgotten afterwards, so that no thread that still uses it learns it again before. */
#define DEFINE_CHANGE(name, parameters, arguments)                                                           \
    EXPORT int name parameters {                                                                             \
        const int done = FIND(name) arguments;                                                               \
        forget(fd);                                                                                          \
        return done;                                                                                         \
    }
CHANGES(DEFINE_CHANGE)

/* Whether calls may sleep is asked again. The argument is one register, whatever it is. */
#define DEFINE_SETS(symbol, name, type, command)                                                             \
    EXPORT int rw_##name(int fd, type what, void *argument) __asm__(symbol);                                 \
    int rw_##name(int fd, type what, void *argument) {                                                       \
        const int done = FIND(name)(fd, what, argument);                                                     \
        if (what == (command))                                                                               \
            forget(fd);                                                                                      \
        return done;                                                                                         \
    }
DEFINE_SETS("fcntl", fcntl, int, F_SETFL)
DEFINE_SETS("fcntl64", fcntl64, int, F_SETFL)
DEFINE_SETS("ioctl", ioctl, unsigned long, FIONBIO)

static ssize_t sum(const struct mmsghdr *messages, int count) {
    ssize_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += messages[i].msg_len;
    return bytes;
}

#define DEFINE_MANY(name, kind, parameters, arguments)                                                       \
    EXPORT int name parameters {                                                                             \
        const uint16_t what = counted_as(fd);                                                                \
        if (!what)                                                                                           \
            return FIND(name) arguments;                                                                     \
        const uint64_t begin = rw_ticks();                                                                   \
        const int sleeps = will_sleep(what, RW_NETWORK_##kind, fd, (int)flags);                              \
        const int done = FIND(name) arguments;                                                               \
        add_data(what, RW_NETWORK_##kind, sleeps, sum(messages, done), rw_ticks() - begin);                  \
        return done;                                                                                         \
    }
MANY(DEFINE_MANY)
