# The page of reports in a real browser: pages that are made up, and what a user does with them.
if(LULL_TESTS AND CMOCKA_FOUND)
    add_executable(report.make_page ${CMAKE_CURRENT_LIST_DIR}/make_page.c)
    target_link_libraries(report.make_page PRIVATE lull_test_support)
endif()
