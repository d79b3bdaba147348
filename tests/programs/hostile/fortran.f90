! SPDX-License-Identifier: BSD-3-Clause
! One binding of three, chosen by the preprocessor: each call is seen once, whichever entry points the library has.
program fortran
#if defined(MPIFH)
  implicit none
  include 'mpif.h'
  integer :: requests(2), status(MPI_STATUS_SIZE)
#elif defined(USEMPI)
  use mpi
  implicit none
  integer :: requests(2), status(MPI_STATUS_SIZE)
#else
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
#endif
  integer :: rank, size, lap, next, previous, ierror, total
  integer :: out(100), in(100)
  character(len=4096) :: directory
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  next = mod(rank + 1, size)
  previous = mod(rank + size - 1, size)
  out = rank
  do lap = 1, 23
    call MPI_Irecv(in, 100, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(out, 100, MPI_INTEGER, next, 1, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call MPI_Sendrecv(out, 10, MPI_INTEGER, next, 2, in, 100, MPI_INTEGER, previous, 2, MPI_COMM_WORLD, status, ierror)
  end do
  total = 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call get_environment_variable('EXPECT', directory)
  write (directory, '(a,"/",i0)') trim(directory), rank
  open (unit=17, file=trim(directory))
  write (17, '(a,i0,a)') 'sent MPI_Isend ', next, ' 23 9200'
  write (17, '(a,i0,a)') 'sent MPI_Sendrecv ', next, ' 23 920'
  write (17, '(a,i0,a)') 'received MPI_Irecv ', previous, ' 23 9200'
  write (17, '(a,i0,a)') 'received MPI_Sendrecv ', previous, ' 23 920'
  write (17, '(a)') 'collective MPI_Allreduce 0 1 4'
  write (17, '(a)') 'called MPI_Waitall 0 23 0'
  close (17)
  call MPI_Finalize(ierror)
end program fortran
