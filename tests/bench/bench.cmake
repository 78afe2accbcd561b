# What the kernels of lull bench claim, against their compiled loops.
if(LULL_TESTS AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    find_package(Python3 COMPONENTS Interpreter)
    if(Python3_FOUND AND CMAKE_OBJDUMP)
        add_executable(bench_claims ${CMAKE_CURRENT_LIST_DIR}/claims.c)
        target_link_libraries(bench_claims PRIVATE lull_bench)
        add_test(NAME bench.kernels
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/check_kernels.py
                         --archive $<TARGET_FILE:lull_bench> --claims $<TARGET_FILE:bench_claims>
                         --objdump ${CMAKE_OBJDUMP})
        set_tests_properties(bench.kernels PROPERTIES LABELS quick TIMEOUT 120)
    endif()
endif()
