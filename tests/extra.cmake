# Tests that are not C programs of their own.
# The label of those that start lull very often, which under sanitizers takes longer than what most of them ask of
# it: there they are in `make check-all` alone.
set(label_of_many_starts quick)
if(LULL_SANITIZE)
    set(label_of_many_starts all)
endif()
if(LULL_TESTS)
    if(Python3_FOUND)
        file(GLOB areas CONFIGURE_DEPENDS LIST_DIRECTORIES ON ${CMAKE_CURRENT_SOURCE_DIR}/golden/*)
        # These start no thread but those that read and simulate runs, which others do.
        if(LULL_SANITIZE MATCHES "thread")
            list(FILTER areas EXCLUDE REGEX "/(bench|fit|help|kernel|model|solver|spmv|usage)$")
        endif()
        set(golden ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/run.py --lull $<TARGET_FILE:lull>)
        # A share of them, and damaged inputs through every command, is there in `make check`, too.
        if(LULL_SANITIZE MATCHES "address")
            add_test(NAME golden.share COMMAND ${golden} --share 8)
            set_tests_properties(golden.share PROPERTIES LABELS quick TIMEOUT 1800 COST 20)
        endif()
        foreach(area ${areas})
            if(IS_DIRECTORY ${area})
                get_filename_component(area ${area} NAME)
                add_test(NAME golden.${area} COMMAND ${golden} ${area})
                set_tests_properties(golden.${area} PROPERTIES LABELS ${label_of_many_starts} TIMEOUT 1800)
            endif()
        endforeach()
        if(TEST golden.model)
            set_tests_properties(golden.model PROPERTIES COST 20)
        endif()
        # A share of what `make damage` does, where something can be found: races cannot.
        if(NOT LULL_SANITIZE MATCHES "thread")
            set(seconds 10)
            if(LULL_SANITIZE)
                set(seconds 30)
            endif()
            add_test(NAME damage
                     COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/damage/run.py
                             --lull $<TARGET_FILE:lull> --runs 50 --jobs 2 --seconds ${seconds})
            set_tests_properties(damage PROPERTIES LABELS quick TIMEOUT 1800 COST 10)
        endif()
    else()
        message(STATUS "python3 was not found: no golden tests")
    endif()
endif()
include(mpi/mpi.cmake)
include(team/team.cmake)
include(record/record.cmake)
include(bench/bench.cmake)
include(names/names.cmake)
include(report/report.cmake)
include(diagnose/diagnose.cmake)
include(python/python.cmake)
include(columns/columns.cmake)
include(kineto/kineto.cmake)
include(manual/manual.cmake)
if(LULL_TESTS AND Python3_FOUND AND NOT LULL_SANITIZE)
    add_test(NAME install
             COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/install/install.py ${CMAKE_BINARY_DIR}
                     ${PROJECT_SOURCE_DIR} ${LULL_VERSION} ${CMAKE_C_COMPILER})
    set_tests_properties(install PROPERTIES LABELS quick TIMEOUT 1800)
endif()
if(LULL_TESTS AND Python3_FOUND)
    set(install ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/install)
    add_test(NAME install.version COMMAND ${install}/version.py ${PROJECT_SOURCE_DIR})
    set_tests_properties(install.version PROPERTIES LABELS ${label_of_many_starts} SKIP_RETURN_CODE 77 TIMEOUT 1800)
endif()
if(LULL_TESTS AND Python3_FOUND AND NOT LULL_SANITIZE MATCHES "thread")
    foreach(shell bash zsh fish)
        add_test(NAME completions.${shell}
                 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/completions/completions.py ${shell}
                         $<TARGET_FILE:lull> ${CMAKE_CURRENT_SOURCE_DIR})
        set_tests_properties(completions.${shell} PROPERTIES LABELS ${label_of_many_starts} SKIP_RETURN_CODE 77
                                                             TIMEOUT 1800)
    endforeach()
endif()
if(LULL_TESTS AND Python3_FOUND)
    add_test(NAME examples.solvers
             COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/examples/solvers.py
                     ${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR}/examples)
    set_tests_properties(examples.solvers PROPERTIES LABELS ${label_of_many_starts} SKIP_RETURN_CODE 77 TIMEOUT 1800)
endif()
if(LULL_TESTS AND Python3_FOUND AND TARGET liblull-record AND NOT LULL_SANITIZE)
    add_test(NAME examples.jobs
             COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/examples/jobs.py $<TARGET_FILE:lull>
                     ${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR}/examples/jobs)
    set_tests_properties(examples.jobs PROPERTIES LABELS quick TIMEOUT 1800)
endif()
if(LULL_TESTS AND Python3_FOUND)
    add_test(NAME interrupted COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/interrupted.py $<TARGET_FILE:lull>)
    set_tests_properties(interrupted PROPERTIES LABELS ${label_of_many_starts} TIMEOUT 1800)
endif()
if(LULL_TESTS AND Python3_FOUND)
    add_test(NAME examples.performance
             COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/examples/performance.py
                     $<TARGET_FILE:lull> ${PROJECT_SOURCE_DIR}/examples/check-performance.sh
                     ${CMAKE_CURRENT_SOURCE_DIR}/data/tape/heat-2x1)
    set_tests_properties(examples.performance PROPERTIES LABELS ${label_of_many_starts} TIMEOUT 1800)
endif()
if(LULL_TESTS AND Python3_FOUND)
    set(faults ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/examples/faults.py $<TARGET_FILE:lull>)
    add_test(NAME examples.faults
             COMMAND ${faults} ${CMAKE_CURRENT_SOURCE_DIR}/data/tape/heat-functions)
    set_tests_properties(examples.faults PROPERTIES LABELS quick TIMEOUT 1800 SKIP_RETURN_CODE 77)
    if(TARGET liblull-record-openmpi AND NOT LULL_SANITIZE)
        # Its faults are times.
        add_test(NAME examples.faults.recorded COMMAND ${faults} ${PROJECT_SOURCE_DIR}/examples/heat.c)
        set_tests_properties(examples.faults.recorded PROPERTIES LABELS "all;clock" SKIP_RETURN_CODE 77 TIMEOUT 600
                                                                 RUN_SERIAL ON)
    endif()
endif()
include(packaging/packaging.cmake)
# What takes long begins first, so that nothing is left to run alone.
foreach(test names.lines names.loops python.tutorial record.cuda.device_check record.sites_python record.stacks record.unharmed)
    if(TEST ${test})
        set_tests_properties(${test} PROPERTIES COST 20)
    endif()
endforeach()
