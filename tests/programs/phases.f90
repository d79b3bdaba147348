! SPDX-License-Identifier: BSD-3-Clause
! Fortran's MPI_Pcontrol has a level only.
program phases
#if defined(MPIFH)
  implicit none
  include 'mpif.h'
#elif defined(USEMPI)
  use mpi
  implicit none
#else
  use mpi_f08
  implicit none
#endif
  integer :: lap, ierror
  call MPI_Init(ierror)
  call MPI_Pcontrol(0)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  do lap = 1, 4
    call MPI_Pcontrol(3)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Pcontrol(4)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end do
  call MPI_Finalize(ierror)
end program phases
