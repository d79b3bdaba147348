! SPDX-License-Identifier: BSD-3-Clause
! Chapter 12 of MPI, from Fortran: put, get and accumulate with fences and with locks; what goes where, by its origin.
program one_sided
#include "binding.h"
  HANDLE(MPI_Win) :: win
  HANDLE(MPI_Request) :: request
  integer :: memory(100), mine(100), from_there(100), one, found
  integer(kind=MPI_ADDRESS_KIND) :: bytes, at
  call begin()
  memory = 0
  mine = rank
  one = 1
  bytes = 400
  at = 0
  call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call MPI_Put(mine, 10, MPI_INTEGER, next, at, 10, MPI_INTEGER, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call MPI_Get(from_there, 20, MPI_INTEGER, previous, at, 20, MPI_INTEGER, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call MPI_Accumulate(mine, 5, MPI_INTEGER, next, at, 5, MPI_INTEGER, MPI_SUM, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call sent('Put', next, 1, 40)
  call received('Get', previous, 1, 80)
  call sent('Accumulate', next, 1, 20)
  call called('Win_fence', 4)

  call MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win, ierror)
  call MPI_Rput(mine, 3, MPI_INTEGER, next, at, 3, MPI_INTEGER, win, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Win_unlock(next, win, ierror)
  call MPI_Win_lock_all(0, win, ierror)
  call MPI_Get_accumulate(mine, 7, MPI_INTEGER, from_there, 7, MPI_INTEGER, next, at, 7, MPI_INTEGER, MPI_SUM, win, ierror)
  call MPI_Win_flush(next, win, ierror)
  call MPI_Fetch_and_op(one, found, MPI_INTEGER, next, at, MPI_SUM, win, ierror)
  call MPI_Win_flush(next, win, ierror)
  call MPI_Compare_and_swap(one, mine(1), found, MPI_INTEGER, next, at, win, ierror)
  call MPI_Win_unlock_all(win, ierror)
  call MPI_Win_free(win, ierror)
  call sent('Rput', next, 1, 12)
  call sent('Get_accumulate', next, 1, 28)
  call received('Get_accumulate', next, 1, 28)
  call sent('Fetch_and_op', next, 1, 4)
  call received('Fetch_and_op', next, 1, 4)
  call sent('Compare_and_swap', next, 1, 8)
  call received('Compare_and_swap', next, 1, 4)
  call called('Win_lock', 1)
  call called('Win_flush', 2)
  call called('Win_free', 1)
  call finish()
contains
#include "expect.h"
end program one_sided
