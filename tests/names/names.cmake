# Names of code addresses, against marks in sources and other tools.
if(LULL_TESTS AND Python3_FOUND AND LULL_HAVE_LIBDW)
    add_executable(places ${CMAKE_CURRENT_LIST_DIR}/places.c)
    target_link_libraries(places PRIVATE lull_binary)
    add_executable(unwind_rules ${CMAKE_CURRENT_LIST_DIR}/unwind_rules.c)
    target_link_libraries(unwind_rules PRIVATE lull_binary)
    foreach(case loops lines kinds refused network stubs)
        add_test(NAME names.${case}
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/check_names.py
                         --places $<TARGET_FILE:places> --rules $<TARGET_FILE:unwind_rules> --case ${case})
        set_tests_properties(names.${case} PROPERTIES LABELS quick SKIP_RETURN_CODE 77 TIMEOUT 1800)
    endforeach()
endif()
# Lines of functions of Python, against the interpreter's own parser.
if(LULL_TESTS AND Python3_FOUND)
    add_executable(python_lines ${CMAKE_CURRENT_LIST_DIR}/python_lines.c)
    target_link_libraries(python_lines PRIVATE lull_binary)
    add_test(NAME names.python
             COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/check_python.py
                     --lines $<TARGET_FILE:python_lines>)
    set_tests_properties(names.python PROPERTIES LABELS quick TIMEOUT 1800)
endif()
