module m
contains
subroutine s(a,b,n)
integer :: n,i
real(8) :: a(n),b(n)
do i=1,n
 a(i)=b(i)*2
end do
end subroutine
end module
