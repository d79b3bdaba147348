! SPDX-License-Identifier: BSD-3-Clause
! Chapter 3 of MPI, from Fortran: all modes, wildcards, persistent, matched probes, nobody, types with holes.
program point_to_point
#include "binding.h"
  HANDLE(MPI_Request) :: requests(2)
  HANDLE(MPI_Message) :: message
  HANDLE(MPI_Datatype) :: strided
  STATUS(status)
  STATUSES(statuses, 2)
  integer :: out(100), in(100), lap
  character :: buffer(4096)
  call begin()
  out = rank
  call MPI_Irecv(in, 100, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Send(out, 11, MPI_INTEGER, next, 1, MPI_COMM_WORLD, ierror)
  call MPI_Wait(requests(1), status, ierror)
  call MPI_Irecv(in, 100, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Ssend(out, 12, MPI_INTEGER, next, 2, MPI_COMM_WORLD, ierror)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  call MPI_Buffer_attach(buffer, 4096, ierror)
  call MPI_Bsend(out, 13, MPI_INTEGER, next, 3, MPI_COMM_WORLD, ierror)
  call MPI_Recv(in, 100, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call MPI_Irecv(in, 100, MPI_INTEGER, previous, 4, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Rsend(out, 14, MPI_INTEGER, next, 4, MPI_COMM_WORLD, ierror)
  call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE, ierror)
  call received('Irecv', previous, 3, 4*(11 + 12 + 14))
  call received('Recv', previous, 1, 4*13)
  call sent('Send', next, 1, 4*11)
  call sent('Ssend', next, 1, 4*12)
  call sent('Bsend', next, 1, 4*13)
  call sent('Rsend', next, 1, 4*14)
  call collective('Barrier', 0, 1)

  call MPI_Irecv(in, 100, MPI_REAL8, previous, 5, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(out, 15, MPI_REAL8, next, 5, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, statuses, ierror)
  call MPI_Irecv(in, 100, MPI_CHARACTER, previous, 6, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Issend(out, 16, MPI_CHARACTER, next, 6, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitany(2, requests, lap, status, ierror)
  call MPI_Waitany(2, requests, lap, MPI_STATUS_IGNORE, ierror)
  call received('Irecv', previous, 2, 8*15 + 16)
  call sent('Isend', next, 1, 8*15)
  call sent('Issend', next, 1, 16)
  call called('Waitany', 2)

  call MPI_Sendrecv(out, 17, MPI_INTEGER, next, 7, in, 100, MPI_INTEGER, previous, 7, MPI_COMM_WORLD, status, ierror)
  call MPI_Sendrecv_replace(in, 18, MPI_INTEGER, next, 8, previous, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call sent('Sendrecv', next, 1, 4*17)
  call received('Sendrecv', previous, 1, 4*17)
  call sent('Sendrecv_replace', next, 1, 4*18)
  call received('Sendrecv_replace', previous, 1, 4*18)

  call MPI_Recv_init(in, 100, MPI_INTEGER, previous, 9, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Send_init(out, 19, MPI_INTEGER, next, 9, MPI_COMM_WORLD, requests(2), ierror)
  do lap = 1, 5
    call MPI_Startall(2, requests, ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  end do
  call MPI_Start(requests(1), ierror)
  call MPI_Start(requests(2), ierror)
  call MPI_Wait(requests(2), status, ierror)
  call MPI_Wait(requests(1), status, ierror)
  call MPI_Request_free(requests(1), ierror)
  call MPI_Request_free(requests(2), ierror)
  call sent('Send_init', next, 6, 6*4*19)
  call received('Recv_init', previous, 6, 6*4*19)
  call called('Startall', 5)

  call MPI_Isend(out, 20, MPI_INTEGER, next, 10, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Mprobe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, message, status, ierror)
  call MPI_Mrecv(in, 100, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierror)
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierror)
  call MPI_Isend(out, 21, MPI_INTEGER, next, 11, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Probe(previous, 11, MPI_COMM_WORLD, status, ierror)
  call MPI_Recv(in, 100, MPI_INTEGER, previous, 11, MPI_COMM_WORLD, status, ierror)
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierror)
  call sent('Isend', next, 2, 4*(20 + 21))
  call received('Mrecv', previous, 1, 4*20)
  call received('Recv', previous, 1, 4*21)
  call called('Mprobe', 1)
  call called('Probe', 1)

  call MPI_Send(out, 22, MPI_INTEGER, MPI_PROC_NULL, 12, MPI_COMM_WORLD, ierror)
  call MPI_Recv(in, 22, MPI_INTEGER, MPI_PROC_NULL, 12, MPI_COMM_WORLD, status, ierror)

  call MPI_Type_vector(10, 1, 3, MPI_INTEGER, strided, ierror)
  call MPI_Type_commit(strided, ierror)
  call MPI_Irecv(in, 100, MPI_INTEGER, previous, 13, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Send(out, 2, strided, next, 13, MPI_COMM_WORLD, ierror)
  call MPI_Wait(requests(1), status, ierror)
  call MPI_Type_free(strided, ierror)
  call sent('Send', next, 1, 2*10*4)
  call received('Irecv', previous, 1, 2*10*4)
  call finish()
contains
#include "expect.h"
end program point_to_point
