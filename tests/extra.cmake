# Tests that are not C programs of their own.
if(LULL_TESTS)
    find_package(Python3 COMPONENTS Interpreter)
    if(Python3_FOUND)
        add_test(NAME golden COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/golden/run.py
                                     --lull $<TARGET_FILE:lull>)
        set_tests_properties(golden PROPERTIES LABELS quick TIMEOUT 600)
    else()
        message(STATUS "python3 was not found: no golden tests")
    endif()
endif()
include(mpi/mpi.cmake)
include(record/record.cmake)
include(bench/bench.cmake)
