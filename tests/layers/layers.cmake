# The rules between the rooms, the test of their test, and a list that stands in the sources and in the manual.
if(LULL_TESTS)
    if(Python3_FOUND)
        foreach(script check_layers test_check_layers check_site_names)
            add_test(NAME layers.${script}
                     COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/${script}.py)
            set_tests_properties(layers.${script} PROPERTIES LABELS quick TIMEOUT 60)
        endforeach()
    endif()
endif()
