! SPDX-License-Identifier: BSD-3-Clause
! Chapter 6 of MPI, from Fortran: collectives that are entered whenever they are started.
program persistent_collectives
#include "binding.h"
  HANDLE(MPI_Request) :: requests(3)
  integer :: out(100), in(100), more(100), lap
  call begin()
  out = rank
  call MPI_Allreduce_init(out, in, 40, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), ierror)
  call MPI_Bcast_init(more, 41, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), ierror)
  call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, requests(3), ierror)
  do lap = 1, 5
    call MPI_Startall(2, requests, ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  end do
  call MPI_Start(requests(3), ierror)
  call MPI_Wait(requests(3), MPI_STATUS_IGNORE, ierror)
  do lap = 1, 3
    call MPI_Request_free(requests(lap), ierror)
  end do
  call collective('Allreduce_init', 160, 5)
  call collective('Bcast_init', 164, 5)
  call collective('Barrier_init', 0, 1)
  call called('Request_free', 3)
  call finish()
contains
#include "expect.h"
end program persistent_collectives
