# The diagnosis is right: programs with planted defects.
if(LULL_TESTS AND Python3_FOUND AND NOT LULL_SANITIZE)
    # The analysis of kept runs.
    add_test(NAME diagnose.kept
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/diagnose/test_kept.py --lull $<TARGET_FILE:lull>)
    set_tests_properties(diagnose.kept PROPERTIES LABELS quick TIMEOUT 1800 SKIP_RETURN_CODE 77)
    # ... with samples: where in the program's code.
    add_test(NAME diagnose.where
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/diagnose/test_where.py --lull $<TARGET_FILE:lull>)
    set_tests_properties(diagnose.where PROPERTIES LABELS quick TIMEOUT 1800 SKIP_RETURN_CODE 77)
    # ... of programs that are recorded for it.
    if(TARGET liblull-record-openmpi AND LULL_HAVE_LIBDW)
        add_test(NAME diagnose.where_recorded
            COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/diagnose/test_where_recorded.py
                    --lull $<TARGET_FILE:lull>)
        set_tests_properties(diagnose.where_recorded PROPERTIES LABELS "all;clock" RUN_SERIAL ON SKIP_RETURN_CODE 77
                             TIMEOUT 1800)
    endif()
    # planted_tests(name arguments...): that the recorder sees what a program does, by counts; and, with a label of its
    # own, what is found where the clock of this machine decides. Who waits in MPI wants its core back at once: that one
    # runs alone.
    function(planted_tests name)
        foreach(kind recorded measured)
            add_test(NAME diagnose.planted.${kind}.${name}
                COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/diagnose/test_${kind}.py
                        --lull $<TARGET_FILE:lull> ${ARGN})
            set_tests_properties(diagnose.planted.${kind}.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800)
        endforeach()
        set_tests_properties(diagnose.planted.recorded.${name} PROPERTIES LABELS mpi)
        set_tests_properties(diagnose.planted.measured.${name} PROPERTIES LABELS "all;clock" RUN_SERIAL ON)
    endfunction()
    foreach(family openmpi mpich)
        if(TARGET liblull-record-${family})
            foreach(program messages collectives)
                planted_tests(${program}.${family} --program ${program} --family ${family})
            endforeach()
        endif()
    endforeach()
    foreach(compiler ${LULL_C_COMPILERS})
        get_filename_component(short ${compiler} NAME_WE)
        execute_process(COMMAND ${compiler} -fopenmp -x c /dev/null -c -o ${CMAKE_CURRENT_BINARY_DIR}/probe.o
                        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(NOT failed)
            planted_tests(threads.${short} --program threads --compiler ${compiler})
        endif()
    endforeach()
    # Of simulated runs with random faults.
    add_test(NAME diagnose.faults
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/diagnose/faults.py --lull $<TARGET_FILE:lull>)
    set_tests_properties(diagnose.faults PROPERTIES LABELS quick TIMEOUT 1800)
    # Of runs made of simulated ones, with what these have not.
    add_test(NAME diagnose.made
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/diagnose/test_made.py --lull $<TARGET_FILE:lull>)
    set_tests_properties(diagnose.made PROPERTIES LABELS quick TIMEOUT 1800)
    # Of devices.
    add_test(NAME diagnose.devices
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/diagnose/test_devices.py --lull $<TARGET_FILE:lull>)
    set_tests_properties(diagnose.devices PROPERTIES LABELS quick TIMEOUT 1800)
endif()
