! Procedures of a module, and one of none.
module heat
  implicit none
contains
  subroutine step(n, total)
    integer, intent(in) :: n
    real(8), intent(inout) :: total
    integer :: i
    do i = 1, n
      total = total + sqrt(real(i, 8))
    end do
  end subroutine

  recursive integer function factorial(n) result(r)
    integer, intent(in) :: n
    r = 1
    if (n > 1) r = n * factorial(n - 1)
  end function
end module

subroutine outer(total)
  use heat
  implicit none
  real(8), intent(inout) :: total
  integer :: i
  do i = 1, 4
    call step(10, total)
  end do
end subroutine

program prog
  use heat
  implicit none
  real(8) :: total
  total = 0
  call outer(total)
  if (factorial(3) /= 6 .or. total < 1) stop 1
end program
