/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node_use udp N: sends N packets to itself through `lo`, and says what the kernel counted meanwhile.
 * node_use swap [OLD NEW]...: puts what is in the file NEW into the file OLD, calls MPI for 0.4 s, and ends.
 * node_use killed [OLD NEW]...: the same, but calls MPI until a copy was taken, and ends by SIGKILL.
 * node_use turns MS: first rank 0 calls MPI for MS ms while the others sleep, then the others while it does.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <glob.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calling.h"

/* Of a row of /proc/softirqs or /proc/interrupts, all CPUs together. */
static unsigned long long sum_of(const char *path, const char *name) {
    char *line = NULL;
    size_t room = 0;
    unsigned long long sum = 0;
    FILE *file = fopen(path, "r");
    while (file && getline(&line, &room, file) > 0) {
        char *at = line + strspn(line, " "), *end;
        if (strncmp(at, name, strlen(name)) != 0 || at[strlen(name)] != ':')
            continue;
        at += strlen(name) + 1;
        for (unsigned long long one = strtoull(at, &end, 10); end != at; one = strtoull(at, &end, 10)) {
            sum += one;
            at = end;
        }
    }
    if (file)
        fclose(file);
    free(line);
    return sum;
}

static void send_packets(int packets) {
    const int from = socket(AF_INET, SOCK_DGRAM, 0), to = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char byte = 1;
    if (bind(to, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(to, (struct sockaddr *)&address, &length) != 0)
        exit(3);
    for (int i = 0; i < packets; i++)
        if (sendto(from, &byte, 1, 0, (struct sockaddr *)&address, length) != 1 || recv(to, &byte, 1, 0) != 1)
            exit(4);
    close(from);
    close(to);
}

static void put(const char *old, const char *new) {
    static char text[65536];
    const int from = open(new, O_RDONLY), to = open(old, O_WRONLY | O_TRUNC);
    ssize_t count;
    while ((count = read(from, text, sizeof text)) > 0)
        if (write(to, text, (size_t)count) != count)
            exit(5);
    close(from);
    close(to);
}

/* How often the recorder copies goes by what a copy takes. */
static int has_copy(void) {
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/raw/*.end.tar", getenv("RANKWISE_DIR"));
    const int there = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return there;
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2 && strcmp(argv[1], "udp") == 0) {
        const unsigned long long received = sum_of("/proc/softirqs", "NET_RX");
        const unsigned long long timer = sum_of("/proc/interrupts", "LOC");
        send_packets(atoi(argv[2]));
        call_for(0.3);
        printf("received %llu timer %llu\n", sum_of("/proc/softirqs", "NET_RX") - received,
               sum_of("/proc/interrupts", "LOC") - timer);
    } else if (argc > 2 && strcmp(argv[1], "turns") == 0) {
        const double s = 1e-3 * atof(argv[2]);
        for (int turn = 0; turn < 2; turn++) {
            if ((rank == 0) == (turn == 0))
                call_for(s);
            else
                usleep((useconds_t)(1e6 * s));
        }
    } else {
        /* All have left MPI_Init: the first sample has been taken. */
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 2; i + 1 < argc && rank == 0; i += 2)
            put(argv[i], argv[i + 1]);
        const int killed = strcmp(argv[1], "killed") == 0;
        for (const double end = clock_s(CLOCK_MONOTONIC) + 30;
             killed && !has_copy() && clock_s(CLOCK_MONOTONIC) < end;)
            call_for(0.1);
        if (killed)
            raise(SIGKILL);
        call_for(0.4);
    }
    MPI_Finalize();
    return 0;
}
