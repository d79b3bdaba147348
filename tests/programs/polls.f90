! SPDX-License-Identifier: BSD-3-Clause
! Rank 0 polls for a message of rank 1, which first works; prints how many polls found nothing.
program polls
   use mpi
   implicit none
   integer :: rank, error, number, request
   integer(8) :: nothing
   logical :: found
   real(8) :: began

   call mpi_init(error)
   call mpi_comm_rank(mpi_comm_world, rank, error)
   nothing = 0
   number = 5
   call mpi_barrier(mpi_comm_world, error)
   if (rank == 1) then
      began = mpi_wtime()
      do while (mpi_wtime() - began < 0.05d0)
      end do
      call mpi_send(number, 1, mpi_integer, 0, 7, mpi_comm_world, error)
      call mpi_barrier(mpi_comm_world, error)
      call mpi_send(number, 1, mpi_integer, 0, 8, mpi_comm_world, error)
   else if (rank == 0) then
      found = .false.
      do while (.not. found)
         call mpi_iprobe(1, 7, mpi_comm_world, found, mpi_status_ignore, error)
         nothing = nothing + 1
      end do
      call mpi_recv(number, 1, mpi_integer, 1, 7, mpi_comm_world, mpi_status_ignore, error)
      call mpi_irecv(number, 1, mpi_integer, 1, 8, mpi_comm_world, request, error)
      call mpi_barrier(mpi_comm_world, error)
      found = .false.
      do while (.not. found)
         call mpi_test(request, found, mpi_status_ignore, error)
      end do
      print *, nothing, number
   else
      call mpi_barrier(mpi_comm_world, error)
   end if
   call mpi_finalize(error)
end program
