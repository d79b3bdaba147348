! SPDX-License-Identifier: BSD-3-Clause
! Chapter 14 of MPI, from Fortran: files are counted and timed. Usage: files PATH
program files
#include "binding.h"
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Request) :: request
  integer :: out(10), in(10)
  integer(kind=MPI_OFFSET_KIND) :: at
  character(len=4096) :: path
  call begin()
  call get_command_argument(1, path)
  out = rank
  at = 0
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
  call MPI_File_set_view(file, at, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror)
  at = 10*rank
  call MPI_File_write_at(file, at, out, 10, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call MPI_File_write_at_all(file, at, out, 10, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call MPI_File_read_at_all(file, at, in, 10, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call MPI_File_iread_at(file, at, in, 10, MPI_INTEGER, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_File_close(file, ierror)
  call called('File_open', 1)
  call called('File_set_view', 1)
  call called('File_write_at', 1)
  call called('File_write_at_all', 1)
  call called('File_read_at_all', 1)
  call called('File_iread_at', 1)
  call called('File_close', 1)
  call finish()
contains
#include "expect.h"
end program files
