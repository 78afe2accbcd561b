! A known call graph in Fortran: the program -> work::drive -> work::relax.
module work
  implicit none
  double precision :: sink = 0
contains
  subroutine drive(ms)
    double precision, intent(in) :: ms
    double precision :: begin, now
    call cpu_time(begin)
    now = begin
    do while (1000 * (now - begin) < ms)
      call relax(200000)
      call cpu_time(now)
    end do
  end subroutine

  subroutine relax(n)
    integer, intent(in) :: n
    integer :: i
    double precision :: total
    total = 0
    do i = 1, n
      total = total + 1d0 / i
    end do
    sink = sink + total
  end subroutine
end module

program stack
  use work
  implicit none
  character(len=32) :: text
  double precision :: ms
  ms = 100
  if (command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *) ms
  end if
  call drive(ms)
  if (sink < 0) print *, sink
end program
