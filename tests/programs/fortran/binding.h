! SPDX-License-Identifier: BSD-3-Clause
! One binding of three, chosen with -DMPIFH, -DUSEMPI or -DF08; what its handles and statuses are declared as.
#if defined(F08)
#define HANDLE(kind) type(kind)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, count) type(MPI_Status) :: name(count)
  use mpi_f08
  implicit none
#else
#define HANDLE(kind) integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, count) integer :: name(MPI_STATUS_SIZE, count)
#if defined(USEMPI)
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
#endif
  integer :: rank, size, next, previous, ierror
