/* SPDX-License-Identifier: BSD-3-Clause */
/* A plug-in (shared object, without MPI) that asks whether MPI is there; loaded by weak_main.c. */
extern int MPI_Initialized(int *flag) __attribute__((weak));
extern int MPI_Abi_get_fortran_info(void *info) __attribute__((weak));

int has_mpi(void) {
    return MPI_Initialized != 0;
}
int has_new_function(void) {
    return MPI_Abi_get_fortran_info != 0;
}
