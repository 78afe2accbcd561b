# Which tests of recorded programs, of MPI and of the bench's helpers run in `make check`, and how. All
# run in `make check-all`; those that run there alone have the label `all`. Each test is named once, by a
# regular expression, in the list of what holds for it; a test that is in none runs in both.

# Tests that assert what a clock measured, as others change it who use the machine: with the label
# `clock`, too, and by themselves.
set(lull_clock_tests
    "^(record|mpi)\\..*\\.clock\\."       # second cases, with what the first ones leave out
    "^record\\.alone$"                    # who had the cores
    "^record\\.omp_imbalance\\."          # a load balance
    "^mpi\\.[a-z]+\\.waves$"              # speeds and costs of waves
    "^bench\\.[a-z]+\\.(mpi|nodes|oversubscribed)$" # the helpers measure
    "^bench\\.openmp\\."
    "^bench\\.odd\\.(one-core|hidden-caches|little-memory|no-mpi)$")

# Tests that are in `make check` with one compiler alone (.gcc, .clang), or one family of MPI libraries
# (openmpi, mpich): by turns, so that each program meets either in some of its cases. What follows is not:
# what differs is in OpenMP's runtime, or in the MPI library's own ways.
set(lull_tests_with_both
    "^record\\.(omp_constructs|omp_rest|omp_waits|many_tasks|pause_omp|nested_threads|late_omp\\.[a-z]+|sites_omp|counters|forks)\\.(gcc|clang)$"
    "^record\\.(ends|schedules)\\."
    "^record\\.start\\.(part|local)\\."
    "^record\\.(start\\.python|communicators\\.nodes)\\." # of which most libraries can do one alone
    "^(record|mpi)\\.sanitized\\."
    "^mpi\\.(openmpi|mpich)\\.(functions|closing)$")

# Tests whose combination of settings others cover by pairs, or that take long.
set(lull_crossed_tests
    "^mpi\\.[a-z]+\\.(whole|counted|by_node)\\." # each program alike, with all that run.py looks at
    "^(record|mpi)\\.sanitized\\.whole\\."
    "^record\\.sanitized\\.(forks|nested_threads\\.clang|cuda\\.(processes|said))$" # as record.sanitized.by_clang.*
    "^record\\.sanitized\\.by_clang\\.cuda\\.(plain|random|sums)$"  # as record.sanitized.cuda.*
    "^mpi\\.eztrace\\.(heat|persistent|nonblocking|collectives_nonblocking|fortran_.*)$" # blocking is left
    "^record\\.communicators\\.spawn\\."  # mpi.openmpi.spawn* are there
    "^record\\.(many_calls|functions\\.whole|ends\\.whole|sites\\.whole)"
    "^record\\.killed\\.process$"         # as record.killed and record.killed.node
    "^record\\.(committed|memory)$"       # they look for the least that a program needs, by halves
    "^record\\.copy-on-write")

# lull_matches(TEST LIST RESULT): whether an expression of the list fits
function(lull_matches test list result)
    set(${result} OFF PARENT_SCOPE)
    foreach(expression IN LISTS ${list})
        if(test MATCHES "${expression}")
            set(${result} ON PARENT_SCOPE)
        endif()
    endforeach()
endfunction()

# lull_twin(TEST TWIN WORD): the same test with the other compiler or family, and which this one has
function(lull_twin test twin word)
    set(${twin} "none" PARENT_SCOPE)
    set(${word} "" PARENT_SCOPE)
    foreach(pair "gcc;clang" "clang;gcc" "openmpi;mpich" "mpich;openmpi")
        list(GET pair 0 own)
        list(GET pair 1 other)
        if(test MATCHES "^(.*\\.)${own}(\\..*)?$")
            set(${twin} "${CMAKE_MATCH_1}${other}${CMAKE_MATCH_2}" PARENT_SCOPE)
            set(${word} ${own} PARENT_SCOPE)
        endif()
    endforeach()
endfunction()

# Gives all tests of this folder that are listed above their labels. Of the tests of one program with two
# compilers or families, the cases take turns; a program's first case has that which the last program's
# first case has not.
function(lull_choose_tests)
    get_property(tests DIRECTORY PROPERTY TESTS)
    set(first 0) # which of the two the next program begins with
    foreach(test IN LISTS tests)
        if(NOT test MATCHES "^(record|mpi|bench)\\.")
            continue()
        endif()
        lull_matches(${test} lull_clock_tests is_clock)
        lull_matches(${test} lull_crossed_tests is_crossed)
        lull_matches(${test} lull_tests_with_both has_both)
        lull_twin(${test} twin word)
        if(is_clock)
            set_property(TEST ${test} APPEND PROPERTY LABELS all clock)
            set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
        elseif(is_crossed)
            set_property(TEST ${test} APPEND PROPERTY LABELS all)
        elseif(word AND NOT has_both AND TEST ${twin} AND word MATCHES "^(gcc|openmpi)$")
            string(REGEX REPLACE "^((record|mpi|bench)\\.[^.]*).*" "\\1" program ${test})
            if(NOT DEFINED turn_of_${program})
                set(turn_of_${program} ${first})
                math(EXPR first "1 - ${first}")
            endif()
            if(turn_of_${program})
                set_property(TEST ${test} APPEND PROPERTY LABELS all)
            else()
                set_property(TEST ${twin} APPEND PROPERTY LABELS all)
            endif()
            math(EXPR turn_of_${program} "1 - ${turn_of_${program}}")
        endif()
    endforeach()
endfunction()
cmake_language(DEFER CALL lull_choose_tests)
