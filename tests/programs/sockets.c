/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Known socket calls of each rank, on a TCP connection to itself over 127.0.0.1: what
 * tests/record/network/test_sockets.py expects. With the argument `threads`, 4 threads that send 1000 times
 * each; with `timed`, sends and receives of 60 kB, whose time the program says itself; with `late`, a thread
 * sleeps in a call until MPI_Finalize has returned; with `blocks`, it sleeps in 3 receives, and not in 2 of
 * data that is there, nor in 1 of a descriptor that does not block.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <mpi.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void must(int good, const char *what) {
    if (good)
        return;
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Two ends of a TCP connection. */
static void connect_to_self(int ends[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    must(bind(listening, (struct sockaddr *)&address, size) == 0 && listen(listening, 1) == 0, "listen");
    getsockname(listening, (struct sockaddr *)&address, &size);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(ends[0], (struct sockaddr *)&address, size) == 0, "connect");
    ends[1] = accept(listening, NULL, NULL);
    close(listening);
}

/* Sends of 1, 2, 3, 4, 5 and 6 + 7 bytes, in 6 calls; as many receives of 28 bytes in all; 1 that finds
 * nothing. */
static void every_call(const int ends[2]) {
    char data[64] = "";
    struct iovec parts[2] = {{data, 1}, {data + 1, 3}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    struct mmsghdr messages[2];
    struct iovec sixth = {data, 6}, seventh = {data, 7};
    memset(messages, 0, sizeof messages);
    messages[0].msg_hdr = (struct msghdr){.msg_iov = &sixth, .msg_iovlen = 1};
    messages[1].msg_hdr = (struct msghdr){.msg_iov = &seventh, .msg_iovlen = 1};
    must(write(ends[0], data, 1) == 1, "write");
    must(send(ends[0], data, 2, 0) == 2, "send");
    must(sendto(ends[0], data, 3, 0, NULL, 0) == 3, "sendto");
    must(writev(ends[0], parts, 2) == 4, "writev");
    parts[1].iov_len = 4;
    must(sendmsg(ends[0], &message, 0) == 5, "sendmsg");
    must(sendmmsg(ends[0], messages, 2, 0) == 2, "sendmmsg");
    must(read(ends[1], data, 1) == 1, "read");
    must(recv(ends[1], data, 2, 0) == 2, "recv");
    must(recvfrom(ends[1], data, 3, 0, NULL, NULL) == 3, "recvfrom");
    parts[1].iov_len = 3;
    must(readv(ends[1], parts, 2) == 4, "readv");
    parts[1].iov_len = 4;
    must(recvmsg(ends[1], &message, 0) == 5, "recvmsg");
    must(recvmmsg(ends[1], messages, 2, 0, NULL) == 2, "recvmmsg");
    must(recv(ends[1], data, 1, MSG_DONTWAIT) == -1, "recv of nothing");
}

/* 4 looks and 4 waits. */
static void every_wait(int fd) {
    struct pollfd polled = {fd, POLLIN, 0};
    struct epoll_event event = {.events = EPOLLIN};
    const struct timespec none = {0, 0}, short_time = {0, 1000000};
    struct timeval no_time = {0, 0}, some_time = {0, 1000};
    fd_set set;
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        must(poll(&polled, 1, sleeps) == 0, "poll");
        must(ppoll(&polled, 1, sleeps ? &short_time : &none, NULL) == 0, "ppoll");
        must(epoll_wait(epoll, &event, 1, sleeps) == 0, "epoll_wait");
        FD_ZERO(&set);
        FD_SET(fd, &set);
        must(select(fd + 1, &set, NULL, NULL, sleeps ? &some_time : &no_time) == 0, "select");
    }
    close(epoll);
}

/* None of these is on a connected socket of a network, or of this process. */
static void what_does_not_count(int ends[2]) {
    char data[8] = "";
    int pipes[2], local[2], status = 0;
    must(pipe(pipes) == 0 && write(pipes[1], data, 8) == 8 && read(pipes[0], data, 8) == 8, "pipe");
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, local) == 0 && send(local[0], data, 8, 0) == 8, "socketpair");
    pid_t child = fork();
    if (child == 0)
        _exit(send(ends[0], data, 8, 0) == 8 ? 0 : 1);
    must(waitpid(child, &status, 0) == child && status == 0, "fork");
    /* A file that gets the number that the connection had. */
    const int number = ends[0];
    close(ends[0]);
    int file = open("/dev/null", O_WRONLY);
    must(file == number && write(file, data, 8) == 8, "open");
    must(dup2(local[1], ends[1]) == ends[1] && recv(ends[1], data, 8, 0) == 8, "dup2");
}

static void *send_often(void *end) {
    for (int i = 0; i < 1000; i++)
        must(send(*(int *)end, "x", 1, 0) == 1, "send");
    return NULL;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void time_calls(const int ends[2]) {
    static char data[60000];
    double sending = 0, receiving = 0;
    for (int i = 0; i < 500; i++) {
        double begin = now();
        must(send(ends[0], data, sizeof data, 0) == sizeof data, "send");
        double middle = now();
        must(recv(ends[1], data, sizeof data, MSG_WAITALL) == sizeof data, "recv");
        receiving += now() - middle;
        sending += middle - begin;
    }
    printf("%.9f %.9f\n", sending, receiving);
}

static void *sleep_until_told(void *fd) {
    struct pollfd polled = {*(int *)fd, POLLIN, 0};
    must(poll(&polled, 1, -1) == 1, "poll until told");
    return NULL;
}

static void *send_later(void *end) {
    for (int i = 0; i < 3; i++) {
        usleep(50000);
        must(send(*(int *)end, "later", 5, 0) == 5, "send later");
    }
    return NULL;
}

static void block(int ends[2]) {
    char data[8];
    pthread_t sender;
    pthread_create(&sender, NULL, send_later, &ends[0]);
    for (int i = 0; i < 3; i++)
        must(recv(ends[1], data, 5, 0) == 5, "recv later");
    pthread_join(sender, NULL);
    for (int i = 0; i < 2; i++) {
        must(send(ends[0], "there", 5, 0) == 5, "send");
        must(recv(ends[1], data, 5, 0) == 5, "recv");
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    must(recv(ends[1], data, 5, 0) < 0, "recv of nothing");
}

int main(int argc, char **argv) {
    int ends[2], provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    connect_to_self(ends);
    if (argc > 1 && strcmp(argv[1], "threads") == 0) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, send_often, &ends[0]);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    } else if (argc > 1 && strcmp(argv[1], "timed") == 0) {
        time_calls(ends);
    } else if (argc > 1 && strcmp(argv[1], "blocks") == 0) {
        block(ends);
    } else if (argc > 1 && strcmp(argv[1], "late") == 0) {
        pthread_t sleeper;
        pthread_create(&sleeper, NULL, sleep_until_told, &ends[1]);
        usleep(100000);
        MPI_Finalize();
        must(write(ends[0], "", 1) == 1, "write");
        pthread_join(sleeper, NULL);
        return 0;
    } else {
        every_call(ends);
        every_wait(ends[1]);
        what_does_not_count(ends);
    }
    MPI_Finalize();
    return 0;
}
