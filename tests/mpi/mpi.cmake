# Small MPI programs that are recorded; what must be in the run stands in their sources. Under each
# family of MPI libraries that a recorder was built for. Under sanitizers: record/sanitized.cmake.
include(record/choice.cmake)

# With what programs are linked that share their cores with others.
set(lull_patient ${CMAKE_CURRENT_BINARY_DIR}/patient.o)
add_custom_command(OUTPUT ${lull_patient} DEPENDS ${CMAKE_CURRENT_LIST_DIR}/patient.c
    COMMAND ${CMAKE_C_COMPILER} -O1 -g -c ${CMAKE_CURRENT_LIST_DIR}/patient.c -o ${lull_patient} VERBATIM)
add_custom_target(patient DEPENDS ${lull_patient})
set(lull_patient_words ${lull_patient} -ldl
    -Wl,--export-dynamic-symbol=sched_yield,--export-dynamic-symbol=dlclose)

# What is looked at with a program in `make check`: where its run lies, whether counters are read in
# between, and what run.py leaves out. Each program takes the next of four ways, with MPICH that in which
# all three differ from Open MPI's: so it meets both of each, and all that is varied meets all else.
set(lull_ways_of_openmpi "process,none,team" "node,fake,team" "process,fake,profile" "node,none,profile")
set(lull_ways_of_mpich "node,fake,profile" "process,none,profile" "node,none,team" "process,fake,team")

# Programs that ask nothing of what differs between the families: handles, statuses, bindings of Fortran, how others are
# spawned, what is called inside. In `make check` they take turns, in `make check-all` they run under both.
set(lull_mpi_of_any_family chunk_ends control errors_throw files files_forms forgotten idup imbalance intercomm_threads
    large_counts matched_threads modes neighbours nonblocking onesided_epochs pause pause_probe pause_requests pause_window
    persistent_order polls polls_in_turn probe spawn_alone spawn_fails spawn_named spawn_script threads)

if(LULL_TESTS AND Python3_FOUND AND NOT LULL_SANITIZE)
    add_executable(mpi_digest ${CMAKE_CURRENT_LIST_DIR}/digest.c)
    target_link_libraries(mpi_digest PRIVATE lull_trace lull_base)
    file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/programs/*.c
                                         ${CMAKE_CURRENT_LIST_DIR}/programs/*.cc
                                         ${CMAKE_CURRENT_LIST_DIR}/programs/*.f90)
    add_test(NAME mpi.documented
        COMMAND ${Python3_EXECUTABLE} -BS ${CMAKE_CURRENT_LIST_DIR}/documented.py
                ${PROJECT_SOURCE_DIR}/src/record/mpi/functions.txt
                ${PROJECT_SOURCE_DIR}/docs/record-reference.md)
    set_tests_properties(mpi.documented PROPERTIES LABELS quick TIMEOUT 1800)

    # mpi_build(family program RESULT): the program, built once for all tests; an empty file where Fortran
    # cannot compile it
    function(mpi_build family program result)
        get_filename_component(name ${program} NAME_WE)
        get_filename_component(kind ${program} LAST_EXT)
        set(wrapper_of_.c mpicc)
        set(wrapper_of_.cc mpicxx)
        set(wrapper_of_.f90 mpif90)
        set(${result} "" PARENT_SCOPE)
        find_program(LULL_TEST_${wrapper_of_${kind}}_${family} NAMES ${wrapper_of_${kind}}.${family})
        set(compiler ${LULL_TEST_${wrapper_of_${kind}}_${family}})
        if(NOT compiler)
            return() # the test says so
        endif()
        set(folder ${CMAKE_CURRENT_BINARY_DIR}/mpi/${family})
        file(MAKE_DIRECTORY ${folder})
        set(output ${folder}/${name})
        set(otherwise)
        if(kind STREQUAL ".f90")
            set(otherwise 2> /dev/null || : > ${output})
        endif()
        file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/mpi/programs/*.h
             ${PROJECT_SOURCE_DIR}/include/lull/*.h)
        add_custom_command(OUTPUT ${output} DEPENDS ${program} ${headers} patient ${lull_patient}
            COMMAND ${compiler} -O1 -g -w -I${PROJECT_SOURCE_DIR}/include ${program} -o ${output}
                    -lpthread ${lull_patient_words} ${otherwise})
        set_property(GLOBAL APPEND PROPERTY lull_mpi_built_${family} ${output})
        set(${result} --built=${output} PARENT_SCOPE)
    endfunction()

    # mpi_test(family name program arguments of run.py...)
    function(mpi_test family name program)
        add_test(NAME mpi.${family}.${name}
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/mpi/run.py --family ${family}
                    --recorder $<TARGET_FILE:liblull-record-${family}>
                    --digest $<TARGET_FILE:mpi_digest> --lull $<TARGET_FILE:lull> ${ARGN} ${program})
        set_tests_properties(mpi.${family}.${name} PROPERTIES LABELS mpi SKIP_RETURN_CODE 77 TIMEOUT 1800)
    endfunction()

    # mpi_script(family name script arguments...)
    function(mpi_script family name script)
        add_test(NAME mpi.${family}.${name}
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/mpi/${script} --family ${family} ${ARGN})
        set_tests_properties(mpi.${family}.${name} PROPERTIES LABELS mpi SKIP_RETURN_CODE 77 TIMEOUT 1800)
    endfunction()

    set(environment_of_process)
    set(environment_of_node LULL_RECORD_STORE=node)
    set(environment_of_none)
    set(environment_of_fake LULL_RECORD_COUNTERS=fake:instructions=3,fake:cycles=2)
    foreach(family openmpi mpich)
        if(NOT TARGET liblull-record-${family})
            continue()
        endif()
        set(turn 0)
        foreach(program ${programs})
            get_filename_component(name ${program} NAME_WE)
            mpi_build(${family} ${program} built)
            list(GET lull_ways_of_${family} ${turn} way)
            string(REPLACE "," ";" way ${way})
            list(GET way 0 store)
            list(GET way 1 counters)
            list(GET way 2 without)
            mpi_test(${family} ${name} ${program} ${built} --without=${without})
            set_tests_properties(mpi.${family}.${name} PROPERTIES
                ENVIRONMENT "${environment_of_${store}};${environment_of_${counters}}")
            if(NOT name IN_LIST lull_mpi_of_any_family)
                list(APPEND lull_tests_with_both "^mpi\\.[a-z]+\\.${name}$")
            endif()
            mpi_test(${family} whole.${name} ${program} ${built})
            math(EXPR turn "(${turn} + 1) % 4")
        endforeach()
        get_property(built GLOBAL PROPERTY lull_mpi_built_${family})
        add_custom_target(mpi.programs.${family} ALL DEPENDS ${built})
        set(built ${CMAKE_CURRENT_BINARY_DIR}/mpi/${family})
        foreach(name imbalance polls_in_turn)
            mpi_test(${family} clock.${name} ${CMAKE_CURRENT_LIST_DIR}/programs/${name}.c
                     --built=${built}/${name} --clock)
        endforeach()
        # The same with readings of counters in between.
        foreach(name files onesided persistent pause_requests chunk_ends)
            mpi_test(${family} counted.${name} ${CMAKE_CURRENT_LIST_DIR}/programs/${name}.c
                     --built=${built}/${name})
            set_tests_properties(mpi.${family}.counted.${name} PROPERTIES ENVIRONMENT "${environment_of_fake}")
        endforeach()
        # The same in files of nodes.
        foreach(name blocking collectives communicators chunk_ends onesided threads pause spawn spawn_multiple
                spawn_script errors)
            mpi_test(${family} by_node.${name} ${CMAKE_CURRENT_LIST_DIR}/programs/${name}.c
                     --built=${built}/${name})
            set_tests_properties(mpi.${family}.by_node.${name} PROPERTIES ENVIRONMENT "${environment_of_node}")
        endforeach()
        # Another PMPI tool counts as much as the recorder, wherever it stands. It does not survive a
        # jump out of a call itself, and writes its counts in MPI_Finalize, which sessions do without; in
        # pauses and spawned worlds the two count differently, and it knows of no extensions.
        set(chained ${programs})
        list(FILTER chained INCLUDE REGEX "\\.c$")
        list(FILTER chained EXCLUDE REGEX "/(pause|spawn|errors_jump|sessions|extensions)[^/]*$")
        set(chained_linked ${chained})
        list(FILTER chained_linked INCLUDE REGEX "/(control|blocking|persistent|threads_requests)\\.c$")
        foreach(place preloaded linked inside)
            set(list chained)
            if(place MATCHES "linked|inside")
                set(list chained_linked)
            endif()
            mpi_script(${family} chain.${place} chain.py
                       --recorder $<TARGET_FILE:liblull-record-${family}>
                       --digest $<TARGET_FILE:mpi_digest>
                       --functions ${PROJECT_SOURCE_DIR}/src/record/mpi/functions.txt
                       --place ${place} --built ${built} ${${list}})
            set_tests_properties(mpi.${family}.chain.${place} PROPERTIES COST 10) # the longest begin first
        endforeach()
        # Delays that are put into a real program are found as waves.
        mpi_script(${family} waves waves.py --recorder $<TARGET_FILE:liblull-record-${family}>
                   --lull $<TARGET_FILE:lull> ${PROJECT_SOURCE_DIR}/examples/wave.c)
        # Programs that are disturbed on purpose: for as long as was asked for, or longer.
        mpi_script(${family} inject inject.py --lull $<TARGET_FILE:lull> ${CMAKE_CURRENT_LIST_DIR}/inject.c)
        # What a model of examples/image.c says of its messages, and what of its times.
        foreach(name model clock.model)
            set(words)
            if(name MATCHES "clock")
                set(words --clock)
            endif()
            mpi_script(${family} ${name} model.py --recorder $<TARGET_FILE:liblull-record-${family}>
                       --lull $<TARGET_FILE:lull> ${words})
        endforeach()
        # Every function of mpi.h is wrapped, or is listed as one that is not.
        add_test(NAME mpi.${family}.functions
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/src/record/mpi/generate.py --check
                    ${PROJECT_SOURCE_DIR}/src/record/mpi/functions.txt
                    ${CMAKE_BINARY_DIR}/generated/record-${family}/mpi.i)
        set_tests_properties(mpi.${family}.functions PROPERTIES LABELS quick TIMEOUT 1800)
        add_test(NAME mpi.${family}.closing
            COMMAND ${Python3_EXECUTABLE} -BS ${CMAKE_CURRENT_LIST_DIR}/closing.py
                    ${CMAKE_BINARY_DIR}/generated/record-${family}/mpi_wrappers.c)
        set_tests_properties(mpi.${family}.closing PROPERTIES LABELS quick TIMEOUT 1800)
    endforeach()
    # OpenSHMEM. What UCX does to see memory come and go makes Open MPI 4.1 of Debian 12 die at the end.
    if(TARGET liblull-record-openmpi-shmem)
        add_test(NAME mpi.openmpi.shmem
            COMMAND ${Python3_EXECUTABLE} -BS ${CMAKE_CURRENT_LIST_DIR}/run.py --family openmpi --shmem
                    --recorder $<TARGET_FILE:liblull-record-openmpi-shmem>
                    --digest $<TARGET_FILE:mpi_digest> --lull $<TARGET_FILE:lull>
                    ${CMAKE_CURRENT_LIST_DIR}/shmem/shmem.c)
        set_tests_properties(mpi.openmpi.shmem PROPERTIES LABELS mpi SKIP_RETURN_CODE 77 TIMEOUT 1800
                             ENVIRONMENT OMPI_MCA_opal_common_ucx_opal_mem_hooks=0)
        # Every function of shmem.h is wrapped, or is one that is left out.
        add_test(NAME mpi.openmpi.shmem.functions
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/src/record/shmem/generate.py --check
                    ${CMAKE_BINARY_DIR}/generated/record-openmpi/shmem.i)
        set_tests_properties(mpi.openmpi.shmem.functions PROPERTIES LABELS quick TIMEOUT 1800)
    endif()
    if(TARGET liblull-record-openmpi)
        set(compared ${PROJECT_SOURCE_DIR}/examples/heat.c)
        # Left out are programs that poll, whose number of calls is never the same, and what EZTrace
        # 2.0 does not survive: mpi_f08, and MPI_Gatherv without counts where they do not matter.
        foreach(name blocking.c persistent.c nonblocking.c collectives_nonblocking.c
                     fortran_mpif.f90 fortran_usempi.f90)
            list(APPEND compared ${CMAKE_CURRENT_LIST_DIR}/programs/${name})
        endforeach()
        foreach(program ${compared})
            get_filename_component(name ${program} NAME_WE)
            add_test(NAME mpi.eztrace.${name}
                COMMAND ${Python3_EXECUTABLE} -BS ${CMAKE_CURRENT_LIST_DIR}/agree.py
                        --recorder $<TARGET_FILE:liblull-record-openmpi>
                        --digest $<TARGET_FILE:mpi_digest> ${program})
            set_tests_properties(mpi.eztrace.${name} PROPERTIES LABELS mpi SKIP_RETURN_CODE 77
                                 TIMEOUT 1800)
        endforeach()
    endif()
endif()
