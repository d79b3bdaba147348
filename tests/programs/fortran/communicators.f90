! SPDX-License-Identifier: BSD-3-Clause
! Chapter 7 of MPI, from Fortran: peers are world ranks in every communicator, however it was made.
program communicators
#include "binding.h"
  HANDLE(MPI_Comm) :: comm, other
  HANDLE(MPI_Group) :: world, group
  HANDLE(MPI_Request) :: request
  integer :: range(3, 1), lap
  call begin()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call to_successor(comm, 1, next, previous)
  call MPI_Comm_split(comm, 0, -rank, other, ierror)
  call MPI_Comm_free(comm, ierror)
  call to_successor(other, 2, previous, next)
  call MPI_Comm_idup(other, comm, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call to_successor(comm, 3, previous, next)
  call MPI_Comm_free(other, ierror)
  call MPI_Comm_free(comm, ierror)
  call MPI_Comm_group(MPI_COMM_WORLD, world, ierror)
  range(:, 1) = [size - 1, 0, -1]
  call MPI_Group_range_incl(world, 1, range, group, ierror)
  call MPI_Comm_create(MPI_COMM_WORLD, group, comm, ierror)
  call to_successor(comm, 4, previous, next)
  call MPI_Comm_free(comm, ierror)
  call MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, comm, ierror)
  call to_successor(comm, 5, previous, next)
  call MPI_Comm_free(comm, ierror)
  call MPI_Group_free(group, ierror)
  call MPI_Group_free(world, ierror)
  do lap = 1, 20
    call MPI_Comm_split(MPI_COMM_WORLD, 0, merge(rank, -rank, mod(lap, 2) == 0), comm, ierror)
    if (mod(lap, 2) == 0) call to_successor(comm, 6, next, previous)
    if (mod(lap, 2) == 1) call to_successor(comm, 7, previous, next)
    call MPI_Comm_free(comm, ierror)
  end do
  call called('Comm_free', 25)
  call finish()
contains
  ! One message to the successor there, which in the world is `to`.
  subroutine to_successor(in_comm, bytes, to, from)
    HANDLE(MPI_Comm), intent(in) :: in_comm
    integer, intent(in) :: bytes, to, from
    character :: out(100), in(100)
    integer :: self
    out = 'x'
    call MPI_Comm_rank(in_comm, self, ierror)
    call MPI_Sendrecv(out, bytes, MPI_CHARACTER, mod(self + 1, size), 0, in, 100, MPI_CHARACTER, MPI_ANY_SOURCE, 0, &
      in_comm, MPI_STATUS_IGNORE, ierror)
    call sent('Sendrecv', to, 1, bytes)
    call received('Sendrecv', from, 1, bytes)
  end subroutine to_successor
#include "expect.h"
end program communicators
