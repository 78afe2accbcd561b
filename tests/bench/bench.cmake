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

# The helper programs, and what lull makes of them.
if(LULL_TESTS AND Python3_FOUND)
    function(lull_helper_test name helper)
        add_test(NAME bench.${name}
                 COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/bench/helpers.py
                         --lull $<TARGET_FILE:lull> --helper ${CMAKE_BINARY_DIR}/${helper} ${ARGN})
        set_tests_properties(bench.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
    endfunction()
    foreach(family openmpi mpich)
        if(LULL_MPICC_${family})
            foreach(case mpi nodes oversubscribed planted refused)
                lull_helper_test(${family}.${case} lull-bench-${family} --family ${family}
                                 --case ${case})
            endforeach()
            # Together they would starve each other on few cores.
            set_tests_properties(bench.${family}.mpi bench.${family}.nodes
                                 bench.${family}.oversubscribed PROPERTIES LABELS mpi RUN_SERIAL ON)
            set_tests_properties(bench.${family}.planted bench.${family}.refused
                                 PROPERTIES LABELS quick)
        endif()
    endforeach()
    foreach(compiler gcc clang)
        if(LULL_OPENMP_${compiler})
            lull_helper_test(openmp.${compiler} lull-bench-openmp-${compiler} --case openmp)
            set_tests_properties(bench.openmp.${compiler} PROPERTIES LABELS quick RUN_SERIAL ON)
        endif()
    endforeach()
endif()
