! SPDX-License-Identifier: BSD-3-Clause
! Each rank tells its successor of the world and of a grid its host and rank, through the binding chosen as in ring.f90.
program reordered
#if defined(MPIFH)
  implicit none
  include 'mpif.h'
  integer :: grid, status(MPI_STATUS_SIZE)
#elif defined(USEMPI)
  use mpi
  implicit none
  integer :: grid, status(MPI_STATUS_SIZE)
#else
  use mpi_f08
  implicit none
  type(MPI_Comm) :: grid
  type(MPI_Status) :: status
#endif
  integer :: rank, size, got, of_grid, ierror
  character(64) :: name
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, size), 0, got, 1, MPI_INTEGER, mod(rank + size - 1, size), 0, &
                    MPI_COMM_WORLD, status, ierror)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, (/ size /), (/ .true. /), .true., grid, ierror)
  call MPI_Comm_rank(grid, of_grid, ierror)
  if (got /= mod(rank + size - 1, size) .or. of_grid /= rank) call MPI_Abort(MPI_COMM_WORLD, 3, ierror)
  call hostnm(name)
  print '(a,i0,a,a)', 'rank ', rank, ': ', trim(name)
  call MPI_Finalize(ierror)
end program reordered
