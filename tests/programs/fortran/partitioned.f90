! SPDX-License-Identifier: BSD-3-Clause
! Chapter 4 of MPI, from Fortran: each partition is a message.
program partitioned
#include "binding.h"
  HANDLE(MPI_Request) :: requests(2)
  integer, parameter :: partitions = 8
  integer(kind=MPI_COUNT_KIND) :: each
  integer :: out(40), in(40), lap
  logical :: arrived
  call begin()
  out = rank
  each = 5
  call MPI_Precv_init(in, partitions, each, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), ierror)
  call MPI_Psend_init(out, partitions, each, MPI_INTEGER, next, 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), ierror)
  do lap = 1, 3
    call MPI_Startall(2, requests, ierror)
    call MPI_Pready_range(0, 1, requests(2), ierror)
    call MPI_Pready_list(3, [7, 2, 5], requests(2), ierror)
    call MPI_Pready(3, requests(2), ierror)
    call MPI_Pready(4, requests(2), ierror)
    call MPI_Pready(6, requests(2), ierror)
#if !defined(USEMPI)
    ! The module of MPICH 4.0 takes an integer for the flag.
    call MPI_Parrived(requests(1), 0, arrived, ierror)
#endif
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  end do
  call MPI_Request_free(requests(1), ierror)
  call MPI_Request_free(requests(2), ierror)
  call sent('Psend_init', next, 3*partitions, 3*partitions*5*4)
  call received('Precv_init', previous, 3*partitions, 3*partitions*5*4)
  call called('Pready', 9)
#if !defined(USEMPI)
  call called('Parrived', 3)
#endif
  call finish()
contains
#include "expect.h"
end program partitioned
