! Loops of Fortran for hot_loops.py, which knows what they load and store: a triad, a stencil of five points, a matrix times a
! vector by columns, and loops that are not understood.
module plates
  use, intrinsic :: iso_fortran_env, only: dp => real64
  implicit none
  integer, parameter :: n = 200000, triads = 250, width = 1000, height = 500, sweeps = 30
contains
  subroutine triad(a, b, c, factor)
    real(dp), intent(out) :: a(:)
    real(dp), intent(in) :: b(:), c(:), factor
    integer :: i
    do i = 1, size(a)
      a(i) = b(i) + factor * c(i) ! triad
    end do
  end subroutine triad

  subroutine relax(old, next, columns, rows)
    integer, intent(in) :: columns, rows
    real(dp), intent(in) :: old(0:columns - 1, 0:rows - 1)
    real(dp), intent(inout) :: next(0:columns - 1, 0:rows - 1)
    integer :: i, row
    do row = 1, rows - 2
      do i = 1, columns - 2
        next(i, row) = 0.25_dp * (old(i - 1, row) + old(i + 1, row) & ! relax
                                  + old(i, row - 1) + old(i, row + 1))
      end do
    end do
  end subroutine relax

  subroutine multiply(a, x, y)
    real(dp), intent(in) :: a(width, height), x(height)
    real(dp), intent(inout) :: y(width)
    integer :: i, j
    do j = 1, height
      do i = 1, width
        y(i) = y(i) + a(i, j) * x(j) ! product
      end do
    end do
  end subroutine multiply

  subroutine branch(x)
    real(dp), intent(inout) :: x(n)
    integer :: i
    do i = 1, n
      if (x(i) > 0.5_dp) then ! decide
        x(i) = x(i) / 3
      else
        x(i) = x(i) / 5 + 0.4_dp
      end if
    end do
  end subroutine branch

  subroutine whole(x, y)
    real(dp), intent(inout) :: x(n)
    real(dp), intent(in) :: y(n)
    x = x / (y + 2) ! whole
  end subroutine whole
end module plates

program hot
  use plates
  implicit none
  real(dp), allocatable :: a(:), b(:), c(:), old(:, :), next(:, :)
  integer :: t
  allocate (a(n), b(n), c(n), old(width, height), next(width, height))
  b = 2
  c = 1.5_dp
  old = 1
  next = 0
  do t = 1, triads
    call triad(a, b, c, 1.5_dp)
  end do
  do t = 1, sweeps
    call relax(old, next, width, height)
    call relax(next, old, width, height)
    call multiply(old, b, c)
  end do
  do t = 1, 60
    call branch(a)
    call whole(a, b)
  end do
  print *, a(1), c(1), next(2, 2)
end program hot
