# Recipes for other installers, which are read without these, and the bundle, which is built, and used on the systems that it is
# for.
if(LULL_TESTS AND Python3_FOUND AND NOT LULL_SANITIZE)
    set(packaging ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR})
    foreach(recipe spack rpm debian apptainer module)
        add_test(NAME packaging.${recipe} COMMAND ${packaging}/recipes.py ${recipe} ${PROJECT_SOURCE_DIR}
                 ${PROJECT_VERSION}${LULL_PRERELEASE} ${PROJECT_BINARY_DIR})
        set_tests_properties(packaging.${recipe} PROPERTIES LABELS quick SKIP_RETURN_CODE 77 TIMEOUT 60)
    endforeach()
    add_test(NAME packaging.start COMMAND ${packaging}/start.py ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER})
    set_tests_properties(packaging.start PROPERTIES LABELS quick SKIP_RETURN_CODE 77 TIMEOUT 60)
    add_test(NAME packaging.noexec COMMAND ${packaging}/noexec.py $<TARGET_FILE:lull> ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER})
    set_tests_properties(packaging.noexec PROPERTIES LABELS quick SKIP_RETURN_CODE 77 TIMEOUT 300)
    add_test(NAME packaging.bundle COMMAND ${packaging}/bundle.py ${PROJECT_SOURCE_DIR})
    set_tests_properties(packaging.bundle PROPERTIES LABELS all SKIP_RETURN_CODE 77 TIMEOUT 7200
                         COST 1000) # the longest begins first
    add_test(NAME packaging.deb COMMAND ${packaging}/deb.py ${PROJECT_SOURCE_DIR} bookworm trixie)
    set_tests_properties(packaging.deb PROPERTIES LABELS all SKIP_RETURN_CODE 77 TIMEOUT 7200 COST 900)
endif()
