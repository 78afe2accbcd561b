# The page of reports: pages that are made up, seen by an independent parser and in a real browser.
if(TARGET lull_test_support AND Python3_FOUND)
    add_executable(report.make_page ${CMAKE_CURRENT_LIST_DIR}/make_page.c)
    target_link_libraries(report.make_page PRIVATE lull_test_support lull_view)
    # What is checked there is the page, in which no thread of lull is.
    if(NOT LULL_SANITIZE MATCHES "thread")
        set(browser_tests test_page test_shares test_screenshots)
        add_test(NAME report.test_axe
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_axe.py
                         $<TARGET_FILE:report.make_page> ${CMAKE_CURRENT_BINARY_DIR}/axe)
        set_tests_properties(report.test_axe PROPERTIES LABELS quick SKIP_RETURN_CODE 77 TIMEOUT 1800)
    endif()
    foreach(test check_page ${browser_tests})
        add_test(NAME report.${test}
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/${test}.py
                         $<TARGET_FILE:report.make_page>)
        set_tests_properties(report.${test} PROPERTIES LABELS quick SKIP_RETURN_CODE 77 TIMEOUT 1800)
    endforeach()
    if(TEST report.test_page)
        set_tests_properties(report.test_page PROPERTIES COST 30)
    endif()
endif()
if(LULL_TESTS AND Python3_FOUND)
    # Sanitizers take memory, and maps, of their own. What is compared here they have seen in report.* above.
    if(NOT LULL_SANITIZE)
        set(bounded_tests test_many_ranks test_many_regions)
    endif()
    # MPI leaves memory behind that a sanitizer of lull would tell.
    if(TARGET liblull-team-openmpi AND NOT LULL_SANITIZE)
        set(members_of_test_code mpiexec.openmpi)
    endif()
    foreach(test test_absent test_agreement test_charts test_code test_devices ${bounded_tests})
        add_test(NAME report.${test}
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/${test}.py $<TARGET_FILE:lull>
                         ${PROJECT_SOURCE_DIR}/tests ${members_of_${test}})
        set_tests_properties(report.${test} PROPERTIES LABELS ${label_of_many_starts} TIMEOUT 1200)
    endforeach()
    set_tests_properties(report.test_code PROPERTIES SKIP_RETURN_CODE 77)
    add_test(NAME report.check_openmetrics
             COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/check_openmetrics.py $<TARGET_FILE:lull>
                     ${PROJECT_SOURCE_DIR}/tests/data)
    set_tests_properties(report.check_openmetrics PROPERTIES LABELS quick SKIP_RETURN_CODE 77 TIMEOUT 1200)
    # In `make check` of own traces; conformance.test_report has those of others, and starts lull once.
    set_tests_properties(report.test_agreement PROPERTIES ENVIRONMENT LULL_CONFORMANCE_DIR=none)
    if(NOT LULL_SANITIZE)
        add_test(NAME report.test_agreement.whole
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_agreement.py $<TARGET_FILE:lull>
                         ${PROJECT_SOURCE_DIR}/tests)
        set_tests_properties(report.test_agreement.whole PROPERTIES LABELS all TIMEOUT 1200)
        # A run of 66,000 ranks.
        set_tests_properties(report.test_many_ranks PROPERTIES LABELS all)
    endif()
endif()
