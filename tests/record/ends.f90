! The same as ends.c, whose functions it uses, by the Fortran bindings of mpif.h.
program ends
  use iso_c_binding
  implicit none
  include 'mpif.h'
  interface
    function ends_begin(how) bind(c)
      import
      character(kind=c_char), intent(in) :: how(*)
      integer(c_int) :: ends_begin
    end function
    function ends_calls() bind(c)
      import
      integer(c_int) :: ends_calls
    end function
  end interface
  character(kind=c_char, len=32) :: how
  integer :: error, i, data, next
  call get_command_argument(1, how)
  call MPI_Init(error)
  do i = 1, ends_calls()
    call MPI_Barrier(MPI_COMM_SELF, error)
  end do
  print '(a, i0, a)', 'atleast ', ends_calls(), ' MPI_Barrier'
  print '(a)', 'processes 1', 'expect 1 MPI_Init', 'ready'
  flush (6)
  data = 0
  next = ends_begin(trim(how)//c_null_char)
  if (next == 1) call MPI_Bcast(data, 1, MPI_INTEGER, 77, MPI_COMM_WORLD, error)
  if (next == 2) call MPI_Recv(data, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
