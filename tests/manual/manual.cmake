# What the manual shows is what lull prints.
if(LULL_TESTS AND Python3_FOUND)
    add_test(NAME manual.gallery
             COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/manual/gallery.py ${PROJECT_SOURCE_DIR})
    add_test(NAME manual.links COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/scripts/check-links ${PROJECT_SOURCE_DIR})
    set_tests_properties(manual.gallery manual.links PROPERTIES LABELS quick TIMEOUT 300)
    if(NOT LULL_SANITIZE)
        file(GLOB pages ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/*.md ${PROJECT_SOURCE_DIR}/docs/formats/*.md)
        add_test(NAME manual.options
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/manual/options.py $<TARGET_FILE:lull> ${pages})
        add_test(NAME manual.charts
                 COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/scripts/chart-pictures --check $<TARGET_FILE:lull>)
        add_test(NAME manual.places
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/manual/places.py ${PROJECT_SOURCE_DIR}/examples ${pages})
        set_tests_properties(manual.options manual.charts manual.places PROPERTIES LABELS quick TIMEOUT 300)
    endif()
    # Commands of pages: they record programs.
    if(TARGET liblull-record-openmpi AND LULL_TEST_MPIRUN_openmpi AND NOT LULL_SANITIZE)
        function(lull_manual_test name page) # more arguments of commands.py
            add_test(NAME manual.${name}
                     COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/manual/commands.py $<TARGET_FILE:lull>
                             ${LULL_MPICC_openmpi} ${LULL_TEST_MPIRUN_openmpi} ${ARGN} ${PROJECT_SOURCE_DIR}/${page}.md)
            set_tests_properties(manual.${name} PROPERTIES LABELS "quick;mpi" SKIP_RETURN_CODE 77 TIMEOUT 1800)
        endfunction()
        lull_manual_test(readme README)
        foreach(page index first-run tutorial-gpu report diagnosis code waits compare fit wave simulate bench model-kernel
                     model-spmv model-solver model-program scale python faq record-reference formats/arrow formats/json)
            string(MAKE_C_IDENTIFIER ${page} name)
            lull_manual_test(${name} docs/${page})
        endforeach()
        set_tests_properties(manual.scale manual.model_spmv PROPERTIES LABELS "all;mpi") # 20,000 ranks; measures for seconds
        # What these print rests on times.
        foreach(page metrics record replay tutorial-code tutorial-model tutorial-node tutorial-fortran
                     tutorial-hybrid tutorial-python tutorial-scaling tutorial-ci)
            set(way)
            if(page MATCHES "tutorial-(code|model|node)")
                set(way --tutorial)
            endif()
            string(MAKE_C_IDENTIFIER ${page} name)
            lull_manual_test(${name} docs/${page} ${way})
            set_tests_properties(manual.${name} PROPERTIES LABELS "all;clock;mpi" RUN_SERIAL ON)
        endforeach()
    endif()
endif()
