! SPDX-License-Identifier: BSD-3-Clause
! Chapter 6 of MPI, from Fortran: every collective, blocking and nonblocking, in place, and those with a size for each.
program collectives
#include "binding.h"
  HANDLE(MPI_Request) :: request
  integer :: out(4096), in(4096), counts(64), places(64), root
  call begin()
  root = size - 1
  counts = 2
  places = (/(3*ierror, ierror=0, 63)/)
  out = rank
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Bcast(in, 10, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
  call MPI_Reduce(out, in, 11, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(out, in, 12, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
  call MPI_Gather(out, 3, MPI_INTEGER, in, 3, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
  call MPI_Scatter(out, 4, MPI_INTEGER, in, 4, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
  call MPI_Allgather(out, 5, MPI_INTEGER, in, 5, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call MPI_Alltoall(out, 6, MPI_INTEGER, in, 6, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call MPI_Reduce_scatter_block(out, in, 7, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Scan(out, in, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Exscan(out, in, 9, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Allgatherv(out, 2, MPI_INTEGER, in, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call MPI_Reduce_scatter(out, in, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call each_once('')

  call MPI_Ibarrier(MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Ibcast(in, 10, MPI_INTEGER, root, MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Ireduce(out, in, 11, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Iallreduce(out, in, 12, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Igather(out, 3, MPI_INTEGER, in, 3, MPI_INTEGER, root, MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Iscatter(out, 4, MPI_INTEGER, in, 4, MPI_INTEGER, root, MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Iallgather(out, 5, MPI_INTEGER, in, 5, MPI_INTEGER, MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Ialltoall(out, 6, MPI_INTEGER, in, 6, MPI_INTEGER, MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Ireduce_scatter_block(out, in, 7, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Iscan(out, in, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Iexscan(out, in, 9, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Iallgatherv(out, 2, MPI_INTEGER, in, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request, ierror)
  call done()
  call MPI_Ireduce_scatter(out, in, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierror)
  call done()
  call each_once('I')
  call called('Wait', 13)

  call MPI_Allreduce(MPI_IN_PLACE, in, 20, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 21, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 22, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call collective('Allreduce', 80, 1)
  call collective('Allgather', 84, 1)
  call collective('Alltoall', 88, 1)
  call to_each()
  call finish()
contains
  subroutine done()
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  end subroutine done

  subroutine each_once(prefix)
    character(len=*), intent(in) :: prefix
    character(len=20), parameter :: names(13) = [character(len=20) :: 'barrier', 'bcast', 'reduce', 'allreduce', &
      'gather', 'scatter', 'allgather', 'alltoall', 'reduce_scatter_block', 'scan', 'exscan', 'allgatherv', &
      'reduce_scatter']
    integer, parameter :: lengths(13) = [0, 40, 44, 48, 12, 16, 20, 24, 28, 32, 36, 8, 8]
    character(len=20) :: name
    integer :: i
    do i = 1, 13
      name = names(i)
      if (prefix == '') name(1:1) = achar(iachar(name(1:1)) - 32)
      call collective(prefix//trim(name), lengths(i), 1)
    end do
  end subroutine each_once

  ! What only the caller knows is entered as messages too: 2 integers to each other rank.
  subroutine to_each()
    integer :: peer
    call MPI_Alltoallv(out, counts, places, MPI_INTEGER, in, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call MPI_Gatherv(out, 2, MPI_INTEGER, in, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call MPI_Scatterv(out, counts, places, MPI_INTEGER, in, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call collective('Alltoallv', 8*size, 1)
    call collective('Gatherv', 8, 1)
    call collective('Scatterv', 8, 1)
    do peer = 0, size - 1
      if (peer == rank) cycle
      call sent('Alltoallv', peer, 1, 8)
      if (peer == 0) call sent('Gatherv', peer, 1, 8)
      if (rank == 0) call sent('Scatterv', peer, 1, 8)
    end do
  end subroutine to_each
#include "expect.h"
end program collectives
