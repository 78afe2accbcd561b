# What several processes of lull print is what one prints, and they all end where one fails.
if(LULL_TESTS AND Python3_FOUND)
    set(identical ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/identical.py --lull $<TARGET_FILE:lull>
                  --data ${CMAKE_CURRENT_SOURCE_DIR}/data)
    set(conformance ${PROJECT_SOURCE_DIR}/../shared/traces)
    if(DEFINED ENV{LULL_CONFORMANCE_DIR})
        set(conformance $ENV{LULL_CONFORMANCE_DIR})
    endif()
    add_library(lull_test_stop MODULE ${CMAKE_CURRENT_LIST_DIR}/stop.c)
    set_target_properties(lull_test_stop PROPERTIES COMPILE_OPTIONS "" LINK_OPTIONS "")
    set(bad ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/bad.py --lull $<TARGET_FILE:lull>
            --data ${CMAKE_CURRENT_SOURCE_DIR}/data --stop $<TARGET_FILE:lull_test_stop>)
    # In `make check` a share of the comparisons, every way to fail without a launcher, and with each family what its
    # launcher has a part in. What members tell each other unit.team, unit.replay and property.test_ideal_shares have
    # under sanitizers.
    if(LULL_SANITIZE)
        list(APPEND bad --sanitized)
    endif()
    add_test(NAME team.bad.chaos COMMAND ${bad} --few)
    set_tests_properties(team.bad.chaos PROPERTIES LABELS ${label_of_many_starts} TIMEOUT 2400 COST 10)
    # A member is a process. Its threads do nothing in all cases that they do not do in few, which take minutes in tsan.
    if(NOT LULL_SANITIZE STREQUAL "thread")
        add_test(NAME team.bad.whole.chaos COMMAND ${bad})
        set_tests_properties(team.bad.whole.chaos PROPERTIES LABELS all TIMEOUT 2400 COST 10)
    endif()
    add_test(NAME team.chaos COMMAND ${identical} --share 23)
    set_tests_properties(team.chaos PROPERTIES LABELS ${label_of_many_starts} TIMEOUT 2400 COST 30 # the longest begin first
                         ENVIRONMENT "LULL_CONFORMANCE_DIR=${conformance}")
    # Every command with every run, with two sizes of teams: a sanitizer finds nothing more in so many.
    if(NOT LULL_SANITIZE)
        add_test(NAME team.whole.chaos COMMAND ${identical})
        set_tests_properties(team.whole.chaos PROPERTIES LABELS all TIMEOUT 2400 COST 30
                             ENVIRONMENT "LULL_CONFORMANCE_DIR=${conformance}")
    endif()
    foreach(family openmpi mpich)
        # MPI leaves memory behind that a sanitizer of lull would tell.
        if(TARGET liblull-team-${family} AND NOT LULL_SANITIZE)
            add_test(NAME team.${family} COMMAND ${identical} --family ${family} --share 177)
            set_tests_properties(team.${family} PROPERTIES LABELS mpi SKIP_RETURN_CODE 77 TIMEOUT 2400 COST 20
                                 ENVIRONMENT "LULL_CONFORMANCE_DIR=${conformance}")
            add_test(NAME team.whole.${family} COMMAND ${identical} --family ${family} --share 6)
            set_tests_properties(team.whole.${family} PROPERTIES LABELS all SKIP_RETURN_CODE 77 TIMEOUT 2400 COST 20
                                 ENVIRONMENT "LULL_CONFORMANCE_DIR=${conformance}")
            add_test(NAME team.bad.${family} COMMAND ${bad} --family ${family} --few)
            set_tests_properties(team.bad.${family} PROPERTIES LABELS mpi SKIP_RETURN_CODE 77 TIMEOUT 2400 COST 10)
            add_test(NAME team.bad.whole.${family} COMMAND ${bad} --family ${family})
            set_tests_properties(team.bad.whole.${family} PROPERTIES LABELS all SKIP_RETURN_CODE 77 TIMEOUT 2400 COST 10)
            add_test(NAME team.unlinked.${family}
                     COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/unlinked.py $<TARGET_FILE:lull> ${family}
                             ${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/data/tape/heat-2x1)
            set_tests_properties(team.unlinked.${family} PROPERTIES LABELS mpi SKIP_RETURN_CODE 77 TIMEOUT 600)
        endif()
    endforeach()
endif()
