program marked
    use lull
    implicit none
    integer :: step
    do step = 1, 5
        call lull_iteration(step)
        call lull_begin("fortran region")
        call lull_end("fortran region")
    end do
    call lull_pause()
    call lull_begin("not seen")
    call lull_end("not seen")
    call lull_resume()
    print '(a)', "expect 5 fortran region", "expect 0 not seen", "processes 1", "threads 1"
end program
