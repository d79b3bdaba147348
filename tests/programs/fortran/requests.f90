! SPDX-License-Identifier: BSD-3-Clause
! Chapter 3 of MPI, from Fortran: requests that are freed before they are complete, cancelled, tested in all ways.
program requests_of_fortran
#include "binding.h"
  HANDLE(MPI_Request) :: requests(4)
  STATUS(status)
  STATUSES(statuses, 4)
  integer :: out(100), in(100, 4), done, indices(4), i
  logical :: flag
  call begin()
  out = rank
  call MPI_Irecv(in, 100, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(out, 10, MPI_INTEGER, next, 1, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Request_free(requests(2), ierror)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  call sent('Isend', next, 1, 40)
  call received('Irecv', previous, 1, 40)

  call MPI_Irecv(in, 100, MPI_INTEGER, previous, 4711, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Cancel(requests(1), ierror)
  call MPI_Wait(requests(1), status, ierror)
  call MPI_Test_cancelled(status, flag, ierror)
  if (.not. flag) stop 3
  call called('Cancel', 1)

  do i = 1, 3
    call MPI_Irecv(in(1, i), 100, MPI_INTEGER, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, requests(i), ierror)
  end do
  do i = 1, 3
    call MPI_Send(out, 20 + i, MPI_INTEGER, next, i, MPI_COMM_WORLD, ierror)
  end do
  i = 0
  do while (i < 3)
    call MPI_Waitsome(3, requests, done, indices, statuses, ierror)
    i = i + done
  end do
  call sent('Send', next, 3, 4*(21 + 22 + 23))
  call received('Irecv', previous, 3, 4*(21 + 22 + 23))

  call MPI_Irecv(in, 100, MPI_INTEGER, previous, 5, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(out, 30, MPI_INTEGER, next, 5, MPI_COMM_WORLD, requests(2), ierror)
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(2, requests, flag, statuses, ierror)
  end do
  call MPI_Irecv(in, 100, MPI_INTEGER, previous, 6, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Send(out, 31, MPI_INTEGER, next, 6, MPI_COMM_WORLD, ierror)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(requests(1), flag, status, ierror)
  end do
  call sent('Isend', next, 1, 120)
  call sent('Send', next, 1, 124)
  call received('Irecv', previous, 2, 120 + 124)
  call finish()
contains
#include "expect.h"
end program requests_of_fortran
