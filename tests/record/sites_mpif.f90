! MPI calls from known lines, for sites.py.
subroutine exchange(n)
  implicit none
  include 'mpif.h'
  integer, intent(in) :: n
  integer :: i, error
  do i = 1, n
    call MPI_Barrier(MPI_COMM_SELF, error) !@ exchange x5
  end do
end subroutine

program sites
  implicit none
  include 'mpif.h'
  integer :: error, values(2), received(2), requests(1)
  call MPI_Init(error)
  values = 1
  call exchange(2)
  call MPI_Isend(values, 2, MPI_INTEGER, 0, 3, MPI_COMM_SELF, requests(1), error) !@ sites x1
  call MPI_Recv(received, 2, MPI_INTEGER, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE, error) !@ sites x1
  call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE, error) !@ sites x1
  call exchange(3)
  call MPI_Finalize(error)
end program
