! SPDX-License-Identifier: BSD-3-Clause
! Messages and collectives of mpi_f08 with counts of kind MPI_COUNT_KIND.
program large_counts
#include "binding.h"
  HANDLE(MPI_Request) :: request
  STATUS(status)
  integer(MPI_COUNT_KIND) :: many, count
  integer :: out(100), in(100)
  call begin()
  out = rank
  many = 100
  call MPI_Irecv(in, many, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, request, ierror)
  many = 11
  call MPI_Send(out, many, MPI_INTEGER, next, 1, MPI_COMM_WORLD, ierror)
  call MPI_Wait(request, status, ierror)
  call MPI_Get_count(status, MPI_INTEGER, count, ierror)
  if (count /= 11) stop 3
  many = 12
  call MPI_Allreduce(out, in, many, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Bcast(in, many, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  call sent('Send_c', next, 1, 44)
  call received('Irecv_c', previous, 1, 44)
  call collective('Allreduce_c', 48, 1)
  call collective('Bcast_c', 48, 1)
  call finish()
contains
#include "expect.h"
end program large_counts
