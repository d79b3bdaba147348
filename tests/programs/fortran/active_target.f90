! SPDX-License-Identifier: BSD-3-Clause
! Chapter 12 of MPI, from Fortran: post, start, complete, wait; each rank puts into its successor's memory and gets from it.
program active_target
#include "binding.h"
  HANDLE(MPI_Win) :: win
  HANDLE(MPI_Group) :: world, origins, targets
  integer :: memory(100), mine(100)
  integer(MPI_ADDRESS_KIND) :: bytes, place
  logical :: flag
  call begin()
  memory = rank
  mine = rank
  bytes = 400
  place = 10
  call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call MPI_Comm_group(MPI_COMM_WORLD, world, ierror)
  call MPI_Group_incl(world, 1, [previous], origins, ierror)
  call MPI_Group_incl(world, 1, [next], targets, ierror)
  call MPI_Win_post(origins, 0, win, ierror)
  call MPI_Win_start(targets, 0, win, ierror)
  call MPI_Put(mine, 7, MPI_INTEGER, next, place, 7, MPI_INTEGER, win, ierror)
  call MPI_Win_complete(win, ierror)
  call MPI_Win_wait(win, ierror)
  if (memory(11) /= previous) stop 3
  call sent('Put', next, 1, 28)
  call MPI_Win_post(origins, 0, win, ierror)
  call MPI_Win_start(targets, 0, win, ierror)
  place = 50
  call MPI_Get(mine, 9, MPI_INTEGER, next, place, 9, MPI_INTEGER, win, ierror)
  call MPI_Win_complete(win, ierror)
  flag = .false.
  do while (.not. flag)
    call MPI_Win_test(win, flag, ierror)
  end do
  call received('Get', next, 1, 36)
  call MPI_Win_free(win, ierror)
  call MPI_Group_free(origins, ierror)
  call MPI_Group_free(targets, ierror)
  call MPI_Group_free(world, ierror)
  call called('Win_post', 2)
  call called('Win_complete', 2)
  call finish()
contains
#include "expect.h"
end program active_target
