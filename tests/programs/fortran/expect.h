! SPDX-License-Identifier: BSD-3-Clause
! Known answers, as tests/programs/expect.h: rank r writes what must be recorded of it into the file r of $EXPECT.
  subroutine begin()
    character(len=4096) :: directory
#if defined(LEVEL)
    call MPI_Init_thread(LEVEL, rank, ierror)
#else
    call MPI_Init(ierror)
#endif
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
    next = mod(rank + 1, size)
    previous = mod(rank + size - 1, size)
    call get_environment_variable('EXPECT', directory)
    write (directory, '(a,"/",i0)') trim(directory), rank
    open (unit=17, file=trim(directory))
  end subroutine begin

  subroutine sent(call, peer, messages, bytes)
    character(len=*), intent(in) :: call
    integer, intent(in) :: peer, messages, bytes
    write (17, '("sent MPI_",a,3(" ",i0))') call, peer, messages, bytes
  end subroutine sent

  subroutine received(call, peer, messages, bytes)
    character(len=*), intent(in) :: call
    integer, intent(in) :: peer, messages, bytes
    write (17, '("received MPI_",a,3(" ",i0))') call, peer, messages, bytes
  end subroutine received

  subroutine collective(call, bytes, count)
    character(len=*), intent(in) :: call
    integer, intent(in) :: bytes, count
    write (17, '("collective MPI_",a," 0 ",i0," ",i0)') call, count, bytes
  end subroutine collective

  subroutine called(call, count)
    character(len=*), intent(in) :: call
    integer, intent(in) :: count
    write (17, '("called MPI_",a," 0 ",i0," 0")') call, count
  end subroutine called

  subroutine finish()
    close (17)
    call MPI_Finalize(ierror)
  end subroutine finish
