/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uses its core in known numbers, and says what the kernel counted of it meanwhile.
 *
 * use PAGES SLEEPS MOVES FIRST SECOND [WAY [MS]]: touches new pages, sleeps, and moves between two PUs. It
 * makes calls of MPI for MS ms (40) after each move. WAY `kill`: ends by SIGKILL; `refill`: closes the
 * descriptors from 900 on, and has pipes with a text there, which must be there at the end.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "calling.h"
#include "move_to.h"

#define PAGE 4096
#define FROM 900
#define TO 1020

static int pipe_with_text(void) {
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], "untouched", 9) != 9)
        exit(4);
    return ends[0];
}

int main(int argc, char **argv) {
    if (argc < 6)
        return 2;
    const int pages = atoi(argv[1]), sleeps = atoi(argv[2]), moves = atoi(argv[3]);
    const int pus[2] = {atoi(argv[4]), atoi(argv[5])};
    const char *way = argc > 6 ? argv[6] : "";
    const double between = argc > 7 ? 1e-3 * atof(argv[7]) : 0.04;
    struct rusage before, after;
    int rank = 0;
    move_to(pus[0]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    getrusage(RUSAGE_SELF, &before);
    int text = -1;
    if (strcmp(way, "refill") == 0) {
        text = pipe_with_text();
        for (int file = FROM; file < TO; file++)
            if (dup2(text, file) != file)
                return 5;
    }
    call_for(between);
    char *memory =
        mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, (size_t)pages * PAGE, MADV_NOHUGEPAGE);
    for (int page = 0; page < pages; page++)
        memory[(size_t)page * PAGE] = 1;
    for (int i = 0; i < sleeps; i++)
        usleep(1000);
    for (int move = 1; move <= moves; move++) {
        move_to(pus[move % 2]);
        call_for(between);
    }
    if (strcmp(way, "kill") == 0)
        raise(SIGKILL);
    if (text >= 0) {
        char got[16];
        if (read(text, got, sizeof got) != 9 || memcmp(got, "untouched", 9) != 0)
            return 6;
    }
    getrusage(RUSAGE_SELF, &after);
    printf("rank %d faults %ld voluntary %ld involuntary %ld\n", rank, after.ru_minflt - before.ru_minflt,
           after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw);
    MPI_Finalize();
    return 0;
}
