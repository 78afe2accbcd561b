! rod: heat in a rod, an MPI program in Fortran to try lull on.
!
!     mpif90 -g -O2 lull.f90 rod.f90 -o rod          with include/lull/lull.f90 of lull
!     mpirun -n 2 ./rod [fixed]
!
! The rod is cut into pieces, one for each rank. One end is hot, so that the cells of rank 0 take four times as
! long as the others: the other ranks wait for it. With the word "fixed" all take the same. How long a step takes is time
! that passes, in the place of the physics of a real program, so that it is the same on every machine.
program rod
    use mpi
    use lull
    use, intrinsic :: iso_c_binding
    implicit none
    interface
        integer(c_int) function usleep(microseconds) bind(c)
            import :: c_int
            integer(c_int), value :: microseconds
        end function
    end interface
    integer, parameter :: steps = 50, cells = 1000
    real(8) :: now(0:cells + 1), total
    integer :: error, rank, ranks, step
    character(8) :: word

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call get_command_argument(1, word)
    now = 0
    if (rank == 0) now(0) = 100
    do step = 1, steps
        call exchange_ends()
        call lull_begin("advance")
        call advance()
        call lull_end("advance")
        call MPI_Allreduce(sum(now(1:cells)), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    end do
    if (rank == 0) print '(i0, a, f0.3)', steps, ' steps, heat in the rod ', total
    call MPI_Finalize(error)

contains

    subroutine exchange_ends()
        integer :: left, right
        left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
        right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
        call MPI_Sendrecv(now(cells), 1, MPI_DOUBLE_PRECISION, right, 0, now(0), 1, MPI_DOUBLE_PRECISION, left, 0, &
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
        call MPI_Sendrecv(now(1), 1, MPI_DOUBLE_PRECISION, left, 1, now(cells + 1), 1, MPI_DOUBLE_PRECISION, right, 1, &
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end subroutine

    subroutine advance()
        now(1:cells) = now(1:cells) + 0.25d0 * (now(0:cells - 1) - 2 * now(1:cells) + now(2:cells + 1))
        error = usleep(merge(40000, 10000, rank == 0 .and. word /= 'fixed'))
    end subroutine
end program
