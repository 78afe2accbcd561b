# What the manual shows is what lull prints.
if(LULL_TESTS AND Python3_FOUND)
    add_test(NAME manual.gallery
             COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/manual/gallery.py ${PROJECT_SOURCE_DIR})
    add_test(NAME manual.links COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/scripts/check-links ${PROJECT_SOURCE_DIR})
    set_tests_properties(manual.gallery manual.links PROPERTIES LABELS quick TIMEOUT 300)
    # It records a program.
    if(TARGET liblull-record-openmpi AND LULL_TEST_MPIRUN_openmpi AND NOT LULL_SANITIZE)
        add_test(NAME manual.first_run
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/manual/commands.py $<TARGET_FILE:lull>
                         ${LULL_MPICC_openmpi} ${LULL_TEST_MPIRUN_openmpi} ${PROJECT_SOURCE_DIR}/docs/first-run.md)
        set_tests_properties(manual.first_run PROPERTIES LABELS "quick;mpi" TIMEOUT 1800)
        # Of a trace that is there, or not.
        add_test(NAME manual.tutorial_gpu
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/manual/commands.py $<TARGET_FILE:lull>
                         ${LULL_MPICC_openmpi} ${LULL_TEST_MPIRUN_openmpi} ${PROJECT_SOURCE_DIR}/docs/tutorial-gpu.md)
        set_tests_properties(manual.tutorial_gpu PROPERTIES LABELS quick SKIP_RETURN_CODE 77 TIMEOUT 1800)
        # What these print rests on times.
        foreach(tutorial code model node fortran hybrid python scaling ci)
            set(way)
            if(tutorial MATCHES "code|model|node")
                set(way --tutorial)
            endif()
            add_test(NAME manual.tutorial_${tutorial}
                     COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/manual/commands.py $<TARGET_FILE:lull>
                             ${LULL_MPICC_openmpi} ${LULL_TEST_MPIRUN_openmpi} ${way}
                             ${PROJECT_SOURCE_DIR}/docs/tutorial-${tutorial}.md)
            set_tests_properties(manual.tutorial_${tutorial} PROPERTIES LABELS "all;clock;mpi" TIMEOUT 1800 RUN_SERIAL ON
                                                                        SKIP_RETURN_CODE 77)
        endforeach()
    endif()
endif()
