/* SPDX-License-Identifier: BSD-3-Clause */
/* Chapter 14 of MPI: files are counted and timed; what the library sends for them is its own affair. Usage:
 * files PATH */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    int rank, out[10] = {0}, in[10];
    MPI_File file;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    expect_open(rank);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_at(file, 10 * rank, out, 10, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_write_at_all(file, 10 * rank, out, 10, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, 10 * rank, in, 10, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, 10 * rank, in, 10, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    called("MPI_File_open", 1);
    called("MPI_File_set_view", 1);
    called("MPI_File_write_at", 1);
    called("MPI_File_write_at_all", 1);
    called("MPI_File_read_at_all", 1);
    called("MPI_File_iread_at", 1);
    called("MPI_File_close", 1);
    expect_close();
    MPI_Finalize();
    return 0;
}
