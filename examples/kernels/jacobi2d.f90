! Jacobi's iteration in two dimensions, as jacobi2d.c has it: the first index runs along a line of memory.
real(8) :: old(n, m), next(n, m), weight
integer :: i, row
do row = 2, m - 1
   do i = 2, n - 1
      next(i, row) = (old(i - 1, row) + old(i + 1, row) + old(i, row - 1) + old(i, row + 1)) * weight
   end do
end do
