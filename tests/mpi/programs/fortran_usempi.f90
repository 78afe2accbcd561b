! Fortran: each call is seen once, whatever the binding calls inside.
!
!= ranks 2
!= * calls MPI_Barrier x3
!= * barrier in 2 root -1 sent 0 received 0 x3
!= * calls MPI_Irecv x1
!= * calls MPI_Isend x1
!= * calls MPI_Waitall x1
!= * calls MPI_Allreduce x1
!= * allreduce in 2 root -1 sent 80 received 80 x1
!= 0 sends 1 tag 1 bytes 40 in 2 x1
!= 0 receives 1 tag 1 bytes 40 in 2 x1
!= 1 sends 0 tag 1 bytes 40 in 2 x1
!= 1 receives 0 tag 1 bytes 40 in 2 x1
!= 0 calls MPI_Send x1
!= 0 sends 1 tag 2 bytes 4 in 2 x1
!= 1 calls MPI_Recv x1
!= 1 receives 0 tag 2 bytes 4 in 2 x1
program binding
  use mpi
  implicit none
  integer :: rank, other, error, in(10), out(10)
  double precision :: x(10), y(10)
  integer :: status(MPI_STATUS_SIZE)
  integer :: requests(2)
  out = 0
  x = 0
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  other = 1 - rank
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Irecv(in, 10, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(out, 10, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call MPI_Allreduce(x, y, 10, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) call MPI_Send(out, 1, MPI_INTEGER, 1, 2, MPI_COMM_WORLD, error)
  if (rank == 1) call MPI_Recv(in, 10, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, status, error)
  call MPI_Finalize(error)
end program binding
