! SPDX-License-Identifier: BSD-3-Clause
! Four threads of each rank call MPI at once, each with a tag of its own.
program threads_of_fortran
#include "binding.h"
  integer :: provided, thread
  call begin()
  call MPI_Query_thread(provided, ierror)
  if (provided /= MPI_THREAD_MULTIPLE) stop 3
  !$omp parallel do num_threads(4)
  do thread = 1, 4
    call exchange(thread)
  end do
  !$omp end parallel do
  call sent('Send', next, 200, 200*8)
  call received('Irecv', previous, 200, 200*8)
  call called('Wait', 200)
  call finish()
contains
  subroutine exchange(tag)
    integer, intent(in) :: tag
    HANDLE(MPI_Request) :: request
    integer :: lap, out(2), in(2), error
    out = tag
    do lap = 1, 50
      call MPI_Irecv(in, 2, MPI_INTEGER, previous, tag, MPI_COMM_WORLD, request, error)
      call MPI_Send(out, 2, MPI_INTEGER, next, tag, MPI_COMM_WORLD, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      if (in(1) /= tag) stop 4
    end do
  end subroutine exchange
#define LEVEL MPI_THREAD_MULTIPLE
#include "expect.h"
end program threads_of_fortran
