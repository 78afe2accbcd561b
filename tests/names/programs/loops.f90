! Loops of Fortran; L and E as in loops.c.
module heat
  implicit none
  real(8) :: field(64, 64) = 1.0d0
contains
  subroutine smooth(n, x, y)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n, n)
    real(8), intent(out) :: y(n, n)
    integer :: i, j
    do j = 2, n - 1 ! L
       do i = 2, n - 1 ! L
          y(i, j) = 0.25d0 * (x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1)) ! E E
       end do
    end do
  end subroutine smooth

  real(8) function largest(n, x)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    integer :: i
    largest = -huge(largest)
    do i = 1, n ! L
       if (x(i) < 0) cycle
       largest = max(largest, x(i)) ! E
    end do
  end function largest

  integer function rounds(limit)
    integer, intent(in) :: limit
    integer :: value
    value = limit
    rounds = 0
    do while (value /= 1) ! L
       if (mod(value, 2) == 0) then
          value = value / 2
       else
          value = 3 * value + 1
       end if
       rounds = rounds + 1 ! E
    end do
  end function rounds
end module heat

program loops
  use heat
  implicit none
  real(8) :: other(64, 64)
  integer :: step
  do step = 1, 10 ! L
     call smooth(64, field, other)
     call smooth(64, other, field) ! E
  end do
  print *, largest(64, field(:, 3)), rounds(27)
end program loops
