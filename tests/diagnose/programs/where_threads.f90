! As where.cpp, in a module of Fortran.
module plate
    use, intrinsic :: iso_c_binding
    use omp_lib
    implicit none
    integer, parameter :: cells = 2048, threads = 2
    integer :: kept = 2 ! what it is, the compiler does not know
    double precision :: shared(cells) = 1
    double precision :: assembled(0:threads - 1) = 0, relaxed(0:threads - 1) = 0, updated(0:threads - 1) = 0
    double precision :: passed(0:threads - 1) = 0, left(0:threads - 1) = 0
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

    ! What a function has spent since, by the clocks of the thread.
    subroutine add_spent(spent, begin, began)
        double precision, intent(inout) :: spent(0:threads - 1)
        double precision, intent(in) :: begin, began
        integer :: t
        t = omp_get_thread_num()
        spent(t) = spent(t) + processor_now() - begin
        passed(t) = passed(t) + clock_now(1_c_int) - began
    end subroutine

    subroutine assemble(seconds)
        double precision, intent(in) :: seconds
        double precision :: begin, began
        integer :: i, sweep
        began = clock_now(1_c_int)
        begin = processor_now()
        do
            do sweep = 1, 32
                do i = 1, cells ! assemble: first line
                    shared(i) = shared(i) * 0.5d0 + 1d-3
                end do ! assemble: last line
            end do
            if (processor_now() >= begin + seconds) exit
        end do
        call add_spent(assembled, begin, began)
    end subroutine

    subroutine relax(own, next, seconds)
        double precision, intent(inout) :: own(cells), next(cells)
        double precision, intent(in) :: seconds
        double precision :: begin, began
        integer :: i, sweep
        began = clock_now(1_c_int)
        begin = processor_now()
        do
            do sweep = 1, 32
                do i = 2, cells - 1 ! relax: first line
                    next(i) = 0.25d0 * (own(i - 1) + own(i + 1)) + 0.5d0 * next(i)
                end do ! relax: last line
            end do
            own(2) = next(kept)
            if (processor_now() >= begin + seconds) exit
        end do
        left(omp_get_thread_num()) = next(kept) ! so that it is needed, wherever it lies
        call add_spent(relaxed, begin, began)
    end subroutine

    subroutine update(seconds)
        double precision, intent(in) :: seconds
        double precision :: begin, began
        integer :: i, sweep
        began = clock_now(1_c_int)
        begin = processor_now()
        do
            do sweep = 1, 32
                do i = 1, cells ! update: first line
                    shared(i) = shared(i) + 1d-3 * shared(cells + 1 - i)
                end do ! update: last line
            end do
            if (processor_now() >= begin + seconds) exit
        end do
        call add_spent(updated, begin, began)
    end subroutine
end module

program where
    use plate
    implicit none
    integer :: i, t
    double precision :: own(cells), next(cells), longer
    character(len=4096) :: what, name
    call get_command_argument(1, what)
    call get_command_argument(2, name)
    call omp_set_num_threads(threads)
    do i = 1, 50
        if (what == "serial") call assemble(5d-3)
        !$omp parallel private(own, next, longer)
        own = 1
        next = 0
        longer = 0
        if (what == "uneven" .and. omp_get_thread_num() == 1) longer = 5d-3
        call relax(own, next, 5d-3 + longer)
        if (what == "lock") then
            !$omp critical
            call update(4d-3)
            !$omp end critical
        end if
        !$omp end parallel
    end do
    open (unit=10, file=trim(name))
    do t = 0, threads - 1
        write (10, "(I0,A,F0.9)") t, " plate::assemble ", assembled(t), t, " plate::relax ", relaxed(t)
        write (10, "(I0,A,F0.9)") t, " plate::update ", updated(t), t, " both ", passed(t)
    end do
    close (10)
end program
