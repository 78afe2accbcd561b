! Fortran 2008: calls without requests, which Open MPI's binding answers by itself.
!
!= ranks 1
!= * calls MPI_Waitall x5
!= * calls MPI_Testall x1
program empty
  use mpi_f08
  implicit none
  integer :: error, i
  type(MPI_Request) :: requests(4)
  logical :: flag
  call MPI_Init(error)
  do i = 1, 5
     call MPI_Waitall(0, requests, MPI_STATUSES_IGNORE, error)
  end do
  flag = .false.
  call MPI_Testall(0, requests, flag, MPI_STATUSES_IGNORE, error)
  if (.not. flag) stop 1
  call MPI_Finalize(error)
end program empty
