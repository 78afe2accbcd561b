# The diagnosis is right: programs with planted defects.
if(LULL_TESTS AND Python3_FOUND AND NOT LULL_SANITIZE)
    # planted_test(name program arguments...)
    function(planted_test name program)
        add_test(NAME diagnose.planted.${name}
            COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/diagnose/test_planted.py
                    --program ${program} --lull $<TARGET_FILE:lull> --source ${PROJECT_SOURCE_DIR} ${ARGN})
        set_tests_properties(diagnose.planted.${name} PROPERTIES LABELS mpi SKIP_RETURN_CODE 77 TIMEOUT 600)
    endfunction()
    foreach(family openmpi mpich)
        if(TARGET liblull-record-${family})
            foreach(program messages collectives)
                planted_test(${program}.${family} ${program} --family ${family})
                # Who waits in MPI keeps its core, or wants it back at once.
                set_tests_properties(diagnose.planted.${program}.${family} PROPERTIES RUN_SERIAL ON)
            endforeach()
        endif()
    endforeach()
    foreach(compiler ${LULL_GCC} ${LULL_CLANG})
        get_filename_component(short ${compiler} NAME_WE)
        execute_process(COMMAND ${compiler} -fopenmp -x c /dev/null -c -o ${CMAKE_CURRENT_BINARY_DIR}/probe.o
                        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(NOT failed)
            planted_test(threads.${short} threads --compiler ${compiler})
        endif()
    endforeach()
    # Of simulated runs with random faults.
    add_test(NAME diagnose.faults
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/diagnose/faults.py --lull $<TARGET_FILE:lull>)
    set_tests_properties(diagnose.faults PROPERTIES LABELS quick TIMEOUT 600 PROCESSORS 2)
    # Of runs made of simulated ones, with what these have not.
    add_test(NAME diagnose.made
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/diagnose/test_made.py --lull $<TARGET_FILE:lull>)
    set_tests_properties(diagnose.made PROPERTIES LABELS quick TIMEOUT 600)
endif()
