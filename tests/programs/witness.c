/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank 0 tells what a program can see of its process after MPI_Init, some messages, and before MPI_Finalize:
 * open files, signals, file mode mask, directory, limits, environment. Numbers that differ from run to run
 * are left out.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* socket:[1234] -> socket, /dev/shm/name_1234 -> /dev/shm */
static void show_files(void) {
    for (int file = 0; file < 256; file++) {
        char path[64], target[4096];
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0)
            continue;
        target[length] = 0;
        if (target[0] == '/')
            *strrchr(target, '/') = 0;
        target[strcspn(target, ":0123456789")] = 0;
        printf("file %d %s\n", file, target);
    }
}

static void show_signals(void) {
    for (int number = 1; number < 32; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            printf("signal %d %s\n", number, action.sa_handler == SIG_IGN ? "ignored" : "handled");
    }
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int number = 1; number < 32; number++)
        if (sigismember(&blocked, number))
            printf("signal %d blocked\n", number);
}

static void show_rest(void) {
    char directory[4096];
    struct rlimit limit;
    mode_t mask = umask(0);
    umask(mask);
    printf("umask %o\ndirectory %s\n", (unsigned)mask, getcwd(directory, sizeof directory));
    for (int which = 0; which < RLIMIT_NLIMITS; which++)
        if (getrlimit(which, &limit) == 0)
            printf("limit %d %llu %llu\n", which, (unsigned long long)limit.rlim_cur,
                   (unsigned long long)limit.rlim_max);
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "LD_PRELOAD=", 11) != 0 && strncmp(*variable, "RANKWISE_", 9) != 0)
            printf("variable %.*s\n", (int)strcspn(*variable, "="), *variable);
}

int main(int argc, char **argv) {
    int rank, size;
    char out[64] = {0}, in[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 100; i++)
        MPI_Sendrecv(out, 64, MPI_CHAR, (rank + 1) % size, 0, in, 64, MPI_CHAR, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        show_files();
        show_signals();
        show_rest();
    }
    MPI_Finalize();
    return 0;
}
