! As where.c, in a module of Fortran.
module heat
    use, intrinsic :: iso_c_binding
    implicit none
    integer, parameter :: cells = 4096
    double precision :: grid(cells) = 1, next(cells) = 0
    type, bind(c) :: timespec
        integer(c_long) :: seconds, nanoseconds
    end type
    interface
        integer(c_int) function clock_gettime(clock, now) bind(c)
            import :: c_int, timespec
            integer(c_int), value :: clock
            type(timespec), intent(out) :: now
        end function
    end interface
contains
    double precision function clock_now(clock)
        integer(c_int), intent(in) :: clock
        type(timespec) :: now
        integer(c_int) :: status
        status = clock_gettime(clock, now)
        clock_now = dble(now%seconds) + 1d-9 * dble(now%nanoseconds)
    end function

    double precision function processor_now()
        processor_now = clock_now(3_c_int) ! of the thread
    end function

    subroutine smooth(until)
        double precision, intent(in) :: until
        integer :: i, sweep
        do
            do sweep = 2, 33
                do i = 2, cells - 1 ! smooth: first line
                    next(i) = 0.25d0 * grid(i - 1) + 0.5d0 * grid(i) + 0.25d0 * grid(i + 1)
                end do ! smooth: last line
                grid(sweep) = next(sweep)
            end do
            if (processor_now() >= until) exit
        end do
    end subroutine

    subroutine fill(until)
        double precision, intent(in) :: until
        integer :: i, sweep
        do
            do sweep = 1, 32
                do i = 1, cells
                    grid(i) = grid(i) + 1d-3 * next(i)
                end do
            end do
            if (processor_now() >= until) exit
        end do
    end subroutine
end module

program where
    use heat
    use mpi
    implicit none
    integer :: i, rank, error
    double precision :: begin, middle, finish, total, late, grown, began, spent(3)
    character(len=4096) :: what, name, number
    spent = 0
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call get_command_argument(1, what)
    call get_command_argument(2, name)
    late = 0
    if (what == "late" .and. rank == 1) late = 1
    grown = 0
    if (what == "grown") grown = 1
    do i = 1, 50
        began = clock_now(1_c_int)
        begin = processor_now()
        call fill(begin + 4d-3 + late * 1.2d-3)
        middle = processor_now()
        call smooth(middle + 6d-3 + late * 4.8d-3 + grown * 6d-3)
        finish = processor_now()
        spent = spent + (/ middle - begin, finish - middle, clock_now(1_c_int) - began /)
        call MPI_Allreduce(grid(i), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    end do
    write (number, "(I0)") rank
    open (unit=10, file=trim(name) // "." // trim(number))
    write (10, "(A,F0.9)") "heat::fill ", spent(1)
    write (10, "(A,F0.9)") "heat::smooth ", spent(2)
    write (10, "(A,F0.9)") "both ", spent(3)
    close (10)
    call MPI_Finalize(error)
end program
