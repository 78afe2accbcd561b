# Tables of runs (lull convert --to arrow), read by a reader of the tests' own.
if(LULL_TESTS AND Python3_FOUND AND NOT LULL_SANITIZE MATCHES "thread")
    add_test(NAME columns.tables COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/columns/tables.py
                                         $<TARGET_FILE:lull> ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(columns.tables PROPERTIES LABELS ${label_of_many_starts} TIMEOUT 1800)
    add_test(NAME columns.readers COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/columns/readers.py
                                          $<TARGET_FILE:lull> ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(columns.readers PROPERTIES LABELS all SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
