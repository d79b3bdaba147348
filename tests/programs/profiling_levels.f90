! SPDX-License-Identifier: BSD-3-Clause
! As profiling_levels.c.
program profiling_levels
  use mpi
  implicit none
  integer :: ierror
  call MPI_Init(ierror)
  call barriers(1)
  call MPI_Pcontrol(0)
  call barriers(2)
  call MPI_Pcontrol(1)
  call barriers(4)
  call MPI_Pcontrol(2)
  call barriers(8)
  call MPI_Pcontrol(0)
  call barriers(16)
  call MPI_Finalize(ierror)
contains
  subroutine barriers(number)
    integer, intent(in) :: number
    integer :: lap
    do lap = 1, number
      call MPI_Barrier(MPI_COMM_WORLD, ierror)
    end do
  end subroutine
end program profiling_levels
