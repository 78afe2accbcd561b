! Fortran: calls without requests, which Open MPI's binding answers by itself.
!
!= ranks 1
!= * calls MPI_Waitall x6
!= * calls MPI_Waitany x1
!= * calls MPI_Waitsome x1
!= * calls MPI_Testall x1
!= * calls MPI_Testany x1
!= * calls MPI_Testsome x1
program empty
  implicit none
  include 'mpif.h'
  integer :: error, i, found, many, requests(4), indices(4)
  integer :: statuses(MPI_STATUS_SIZE, 4), status(MPI_STATUS_SIZE)
  logical :: flag
  call MPI_Init(error)
  do i = 1, 5
     call MPI_Waitall(0, requests, statuses, error)
     if (error /= MPI_SUCCESS) stop 1
  end do
  call PMPI_Waitall(0, requests, MPI_STATUSES_IGNORE, error)
  call MPI_Waitany(0, requests, found, status, error) ! MPICH 4.0 answers MPI_UNDEFINED + 1
  many = 0
  call MPI_Waitsome(0, requests, many, indices, statuses, error)
  if (many /= MPI_UNDEFINED) stop 3
  flag = .false.
  call MPI_Testall(0, requests, flag, statuses, error)
  if (.not. flag) stop 4
  flag = .false.
  call MPI_Testany(0, requests, found, flag, status, error)
  if (.not. flag) stop 5
  many = 0
  call MPI_Testsome(0, requests, many, indices, statuses, error)
  if (many /= MPI_UNDEFINED) stop 6
  call MPI_Finalize(error)
end program empty
