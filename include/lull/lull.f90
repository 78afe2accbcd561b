! SPDX-License-Identifier: BSD-3-Clause
! Mark regions and iterations of a Fortran program that `lull record` measures; see lull.h. Compile
! this file with the program: no library is linked, and without the recorder nothing happens.
!
!     use lull
!     call lull_begin("halo exchange")
!     ...
!     call lull_end("halo exchange")
module lull
    use, intrinsic :: iso_c_binding
    implicit none
    private
    public :: lull_begin, lull_end, lull_iteration, lull_pause, lull_resume

    type, bind(c) :: marker_functions
        integer(c_int) :: size
        type(c_funptr) :: begin, end, iteration, pause, resume
    end type

    abstract interface
        function get_functions() bind(c)
            import :: c_ptr
            type(c_ptr) :: get_functions
        end function
        subroutine with_name(name) bind(c)
            import :: c_char
            character(kind=c_char), intent(in) :: name(*)
        end subroutine
        subroutine with_number(number) bind(c)
            import :: c_long
            integer(c_long), value :: number
        end subroutine
        subroutine without() bind(c)
        end subroutine
    end interface

    interface
        function dlsym(handle, name) bind(c)
            import :: c_ptr, c_funptr, c_char
            type(c_ptr), value :: handle
            character(kind=c_char), intent(in) :: name(*)
            type(c_funptr) :: dlsym
        end function
    end interface

    logical :: asked = .false.
    type(marker_functions), pointer :: recorder => null()

contains

    logical function is_recorded()
        procedure(get_functions), pointer :: get
        type(c_funptr) :: symbol
        if (.not. asked) then
            symbol = dlsym(c_null_ptr, "lull_marker_functions" // c_null_char)
            if (c_associated(symbol)) then
                call c_f_procpointer(symbol, get)
                call c_f_pointer(get(), recorder)
            end if
            asked = .true.
        end if
        is_recorded = associated(recorder)
    end function

    subroutine lull_begin(name)
        character(*), intent(in) :: name
        procedure(with_name), pointer :: call
        if (.not. is_recorded()) return
        call c_f_procpointer(recorder%begin, call)
        call call(trim(name) // c_null_char)
    end subroutine

    subroutine lull_end(name)
        character(*), intent(in) :: name
        procedure(with_name), pointer :: call
        if (.not. is_recorded()) return
        call c_f_procpointer(recorder%end, call)
        call call(trim(name) // c_null_char)
    end subroutine

    subroutine lull_iteration(number)
        integer, intent(in) :: number
        procedure(with_number), pointer :: call
        if (.not. is_recorded()) return
        call c_f_procpointer(recorder%iteration, call)
        call call(int(number, c_long))
    end subroutine

    subroutine lull_pause()
        procedure(without), pointer :: call
        if (.not. is_recorded()) return
        call c_f_procpointer(recorder%pause, call)
        call call()
    end subroutine

    subroutine lull_resume()
        procedure(without), pointer :: call
        if (.not. is_recorded()) return
        call c_f_procpointer(recorder%resume, call)
        call call()
    end subroutine
end module
