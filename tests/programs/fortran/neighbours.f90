! SPDX-License-Identifier: BSD-3-Clause
! Chapter 8 of MPI, from Fortran: neighbourhood collectives on a ring and on a directed graph.
program neighbours
#include "binding.h"
  HANDLE(MPI_Comm) :: comm
  integer :: before, after
  call begin()
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.true.], .false., comm, ierror)
  call MPI_Cart_shift(comm, 0, 1, before, after, ierror)
  if (before /= previous .or. after /= next) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  call exchange(previous, next)
  ! Both edges would be one, twice, with fewer: which of them is which, libraries see differently.
  if (size >= 3) then
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [previous, mod(rank + 2*size - 2, size)], MPI_UNWEIGHTED, &
      2, [next, mod(rank + 2, size)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., comm, ierror)
    call exchange(next, mod(rank + 2, size))
  end if
  call finish()
contains
  subroutine exchange(first, second)
    integer, intent(in) :: first, second
    HANDLE(MPI_Request) :: request
    integer :: out(20), in(20)
    out = rank
    call MPI_Neighbor_allgather(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, comm, ierror)
    call MPI_Neighbor_alltoall(out, 3, MPI_INTEGER, in, 3, MPI_INTEGER, comm, ierror)
    call MPI_Neighbor_alltoallv(out, [4, 4], [0, 4], MPI_INTEGER, in, [4, 4], [0, 4], MPI_INTEGER, comm, ierror)
    call MPI_Ineighbor_allgather(out, 5, MPI_INTEGER, in, 5, MPI_INTEGER, comm, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Comm_free(comm, ierror)
    call collective('Neighbor_allgather', 8, 1)
    call collective('Neighbor_alltoall', 12, 1)
    call collective('Neighbor_alltoallv', 32, 1)
    call collective('Ineighbor_allgather', 20, 1)
    call to(first)
    call to(second)
  end subroutine exchange

  subroutine to(peer)
    integer, intent(in) :: peer
    call sent('Neighbor_allgather', peer, 1, 8)
    call sent('Neighbor_alltoall', peer, 1, 12)
    call sent('Neighbor_alltoallv', peer, 1, 16)
    call sent('Ineighbor_allgather', peer, 1, 20)
  end subroutine to
#include "expect.h"
end program neighbours
