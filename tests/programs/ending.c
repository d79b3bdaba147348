/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Usage: ending status|signal N LINES: copies that many lines of rank 0's input to its output, writes every
 * byte value, then ends that way. (Open MPI 5.0 never tells a rank that its input has ended, so the lines are
 * counted; it drops output that is on its way when a rank ends with a status, so there is a pause.)
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, number = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int lines = argc > 3 ? atoi(argv[3]) : 0; lines > 0;) {
            int c = getchar();
            if (c == EOF)
                break;
            putchar(c);
            lines -= c == '\n';
        }
        for (int i = 0; i < 256 * 64; i++)
            putchar(i % 256);
        fflush(stdout);
        usleep(300000);
    }
    if (argc > 1 && strcmp(argv[1], "signal") == 0 && rank == 0)
        raise(number);
    MPI_Finalize();
    return number;
}
