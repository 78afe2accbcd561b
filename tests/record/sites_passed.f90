! Writes from known lines, for sites.py: the run-time library of Fortran makes the calls.
subroutine put(unit, n)
  implicit none
  integer, intent(in) :: unit, n
  integer :: i
  do i = 1, n
    write(unit, '(i8)') i
    flush(unit) !@ put x5
  end do
end subroutine

program sites
  implicit none
  include 'mpif.h'
  integer :: error, unit
  call MPI_Init(error)
  open(newunit=unit, file='sites_passed.out', status='replace')
  call put(unit, 2)
  write(unit, *) error
  flush(unit) !@ sites x1
  call put(unit, 3)
  close(unit, status='delete')
  call MPI_Finalize(error)
end program
