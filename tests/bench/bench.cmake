# What the kernels of lull bench claim, against their compiled loops.
if(LULL_TESTS AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    if(Python3_FOUND AND CMAKE_OBJDUMP)
        add_executable(bench_claims ${CMAKE_CURRENT_LIST_DIR}/claims.c)
        target_link_libraries(bench_claims PRIVATE lull_bench)
        add_test(NAME bench.kernels
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/check_kernels.py
                         --archive $<TARGET_FILE:lull_bench> --claims $<TARGET_FILE:bench_claims>
                         --objdump ${CMAKE_OBJDUMP})
        set_tests_properties(bench.kernels PROPERTIES LABELS quick TIMEOUT 1800)
    endif()
endif()

# The helper programs, and what lull makes of them.
if(LULL_TESTS AND Python3_FOUND)
    function(lull_helper_test name helper)
        add_test(NAME bench.${name}
                 COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/bench/helpers.py
                         --lull $<TARGET_FILE:lull> --helper ${CMAKE_BINARY_DIR}/${helper} ${ARGN})
        set_tests_properties(bench.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800)
    endfunction()
    foreach(family openmpi mpich)
        if(LULL_MPICC_${family})
            set(cases mpi alone)
            if(HWLOC_FOUND) # through lull
                list(APPEND cases nodes oversubscribed planted falling hidden refused)
            endif()
            foreach(case ${cases})
                lull_helper_test(${family}.${case} lull-bench-${family} --family ${family}
                                 --case ${case})
                set_tests_properties(bench.${family}.${case} PROPERTIES LABELS mpi)
            endforeach()
        endif()
    endforeach()
    foreach(compiler gcc clang)
        if(LULL_OPENMP_${compiler})
            lull_helper_test(openmp.${compiler} lull-bench-openmp-${compiler} --case openmp)
            set_tests_properties(bench.openmp.${compiler} PROPERTIES LABELS quick)
        endif()
    endforeach()
endif()

# They start no threads that a thread sanitizer could watch.
if(LULL_TESTS AND Python3_FOUND AND HWLOC_FOUND AND NOT LULL_SANITIZE MATCHES "thread")
    set(cases one-core no-mpi hidden-caches cannot-write)
    if(NOT LULL_SANITIZE) # sanitizers take much address space
        list(APPEND cases little-memory)
    endif()
    foreach(case ${cases})
        add_test(NAME bench.odd.${case}
                 COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/bench/odd_machines.py
                         --lull $<TARGET_FILE:lull> --case ${case})
        set_tests_properties(bench.odd.${case} PROPERTIES LABELS quick TIMEOUT 1800)
    endforeach()
endif()
