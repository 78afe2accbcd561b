# Traces of PyTorch's profiler beside an independent reading of them.
if(LULL_TESTS AND Python3_FOUND AND NOT LULL_SANITIZE MATCHES "thread")
    add_test(NAME kineto COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/kineto/runs.py
                                 $<TARGET_FILE:lull> ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(kineto PROPERTIES LABELS ${label_of_many_starts} TIMEOUT 1800)
    add_test(NAME kineto.odd COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/kineto/odd.py
                                     $<TARGET_FILE:lull> ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(kineto.odd PROPERTIES LABELS ${label_of_many_starts} TIMEOUT 1800)
    # One of 1 GB, in bounded memory: a sanitizer takes another amount.
    if(NOT LULL_SANITIZE)
        add_test(NAME kineto.long COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/kineto/long.py
                                          $<TARGET_FILE:lull>)
        set_tests_properties(kineto.long PROPERTIES LABELS all TIMEOUT 1800)
    endif()
endif()
