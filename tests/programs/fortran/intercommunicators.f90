! SPDX-License-Identifier: BSD-3-Clause
! Chapter 7 of MPI, from Fortran: ranks of the other group are world ranks too, and wildcards among them have a true source.
program intercommunicators
#include "binding.h"
  HANDLE(MPI_Comm) :: half, inter, merged
  STATUS(status)
  integer :: i, in(10), remote
  call begin()
  if (size > 1) then
    ! The first rank, and all others in reversed order.
    call MPI_Comm_split(MPI_COMM_WORLD, min(rank, 1), -rank, half, ierror)
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, merge(size - 1, 0, rank == 0), 1, inter, ierror)
    if (rank == 0) then
      do i = 1, size - 1
        call MPI_Recv(in, 10, MPI_INTEGER, MPI_ANY_SOURCE, 0, inter, status, ierror)
        call MPI_Send(in, 2, MPI_INTEGER, i - 1, 0, inter, ierror)
        call sent('Send', i, 1, 8)
        call received('Recv', i, 1, 12)
      end do
    else
      call MPI_Send(in, 3, MPI_INTEGER, 0, 0, inter, ierror)
      call MPI_Recv(in, 10, MPI_INTEGER, 0, 0, inter, MPI_STATUS_IGNORE, ierror)
      call sent('Send', 0, 1, 12)
      call received('Recv', 0, 1, 8)
    end if
    call MPI_Comm_remote_size(inter, remote, ierror)
    if (remote /= merge(size - 1, 1, rank == 0)) stop 3
    ! In the union the others come first, in their order.
    call MPI_Intercomm_merge(inter, rank == 0, merged, ierror)
    if (rank == size - 1) call MPI_Send(in, 4, MPI_INTEGER, size - 1, 0, merged, ierror)
    if (rank == size - 1) call sent('Send', 0, 1, 16)
    if (rank == 0) call MPI_Recv(in, 10, MPI_INTEGER, 0, 0, merged, MPI_STATUS_IGNORE, ierror)
    if (rank == 0) call received('Recv', size - 1, 1, 16)
    call MPI_Comm_free(merged, ierror)
    call MPI_Comm_free(inter, ierror)
    call MPI_Comm_free(half, ierror)
    call called('Comm_free', 3)
  end if
  call finish()
contains
#include "expect.h"
end program intercommunicators
