/* SPDX-License-Identifier: BSD-3-Clause */
/* Usage: endings HOW: two ranks exchange 50 messages of 64 bytes, then rank 1 (or both) ends without
 * MPI_Finalize. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    char out[64] = {0}, in[64];
    const char *how = argc > 1 ? argv[1] : "";
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 50; i++)
        MPI_Sendrecv(out, 64, MPI_CHAR, !rank, 0, in, 64, MPI_CHAR, !rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "abort") == 0 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (strcmp(how, "kill") == 0 && rank == 1)
        raise(SIGKILL);
    if (strcmp(how, "stuck") == 0 && rank == 0)
        MPI_Recv(in, 64, MPI_CHAR, 1, 4711, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(how, "stuck") == 0 && rank == 1) {
        usleep(500000);
        raise(SIGKILL);
    }
    if (strcmp(how, "segv") == 0 && rank == 1)
        raise(SIGSEGV);
    if (strcmp(how, "term") == 0 && rank == 1)
        raise(SIGTERM);
    if (strcmp(how, "kill all") == 0)
        raise(SIGKILL);
    if (strcmp(how, "exec") == 0)
        execl("/bin/true", "true", (char *)NULL);
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    if (strcmp(how, "exit") == 0)
        exit(0);
    for (;;)
        sleep(1);
}
