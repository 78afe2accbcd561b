# Small MPI programs that are recorded; what must be in the run stands in their sources. Under each
# family of MPI libraries that a recorder was built for. Under sanitizers: record/sanitized.cmake.
if(LULL_TESTS AND Python3_FOUND AND NOT LULL_SANITIZE)
    add_executable(mpi_digest ${CMAKE_CURRENT_LIST_DIR}/digest.c)
    target_link_libraries(mpi_digest PRIVATE lull_trace lull_base)
    file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/programs/*.c
                                         ${CMAKE_CURRENT_LIST_DIR}/programs/*.cc
                                         ${CMAKE_CURRENT_LIST_DIR}/programs/*.f90)
    add_test(NAME mpi.documented
        COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/documented.py
                ${PROJECT_SOURCE_DIR}/src/record/mpi/functions.txt
                ${PROJECT_SOURCE_DIR}/docs/record.md)
    set_tests_properties(mpi.documented PROPERTIES LABELS quick TIMEOUT 60)
    foreach(family openmpi mpich)
        if(NOT TARGET liblull-record-${family})
            continue()
        endif()
        foreach(program ${programs})
            get_filename_component(name ${program} NAME_WE)
            add_test(NAME mpi.${family}.${name}
                COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/run.py --family ${family}
                        --recorder $<TARGET_FILE:liblull-record-${family}>
                        --digest $<TARGET_FILE:mpi_digest> --lull $<TARGET_FILE:lull> ${program})
            set_tests_properties(mpi.${family}.${name} PROPERTIES LABELS mpi SKIP_RETURN_CODE 77
                                 TIMEOUT 900)
            # Beside another program Open MPI 4 hangs now and then where processes spawn others.
            if(name MATCHES "^spawn")
                set_tests_properties(mpi.${family}.${name} PROPERTIES RUN_SERIAL ON)
            endif()
        endforeach()
        # The same with readings of counters in between.
        foreach(name files onesided persistent pause_requests chunk_ends)
            add_test(NAME mpi.${family}.counted.${name}
                COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/run.py --family ${family}
                        --recorder $<TARGET_FILE:liblull-record-${family}>
                        --digest $<TARGET_FILE:mpi_digest> --lull $<TARGET_FILE:lull>
                        ${CMAKE_CURRENT_LIST_DIR}/programs/${name}.c)
            set_tests_properties(mpi.${family}.counted.${name} PROPERTIES LABELS mpi TIMEOUT 900
                SKIP_RETURN_CODE 77
                ENVIRONMENT "LULL_RECORD_COUNTERS=fake:instructions=3,fake:cycles=2")
        endforeach()
        # The same in files of nodes.
        foreach(name blocking collectives communicators chunk_ends onesided threads pause spawn spawn_multiple
                spawn_script errors)
            add_test(NAME mpi.${family}.by_node.${name}
                COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/run.py --family ${family}
                        --recorder $<TARGET_FILE:liblull-record-${family}>
                        --digest $<TARGET_FILE:mpi_digest> --lull $<TARGET_FILE:lull>
                        ${CMAKE_CURRENT_LIST_DIR}/programs/${name}.c)
            set_tests_properties(mpi.${family}.by_node.${name} PROPERTIES LABELS mpi TIMEOUT 900
                SKIP_RETURN_CODE 77 ENVIRONMENT "LULL_RECORD_STORE=node")
            if(name MATCHES "^spawn")
                set_tests_properties(mpi.${family}.by_node.${name} PROPERTIES RUN_SERIAL ON)
            endif()
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
            add_test(NAME mpi.${family}.chain.${place}
                COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/chain.py --family ${family}
                        --recorder $<TARGET_FILE:liblull-record-${family}>
                        --digest $<TARGET_FILE:mpi_digest>
                        --functions ${PROJECT_SOURCE_DIR}/src/record/mpi/functions.txt
                        --place ${place} ${${list}})
            set_tests_properties(mpi.${family}.chain.${place} PROPERTIES LABELS mpi TIMEOUT 900
                                 SKIP_RETURN_CODE 77 COST 10) # the longest begin first
        endforeach()
        # Delays that are put into a real program are found as waves.
        add_test(NAME mpi.${family}.waves
            COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/waves.py --family ${family}
                    --recorder $<TARGET_FILE:liblull-record-${family}> --lull $<TARGET_FILE:lull>
                    ${PROJECT_SOURCE_DIR}/examples/wave.c)
        set_tests_properties(mpi.${family}.waves PROPERTIES LABELS mpi SKIP_RETURN_CODE 77
                             TIMEOUT 900 RUN_SERIAL ON) # times are compared
        # Programs that are disturbed on purpose.
        add_test(NAME mpi.${family}.inject
            COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/inject.py --family ${family}
                    --lull $<TARGET_FILE:lull> ${CMAKE_CURRENT_LIST_DIR}/inject.c)
        set_tests_properties(mpi.${family}.inject PROPERTIES LABELS mpi SKIP_RETURN_CODE 77
                             TIMEOUT 900 RUN_SERIAL ON)
        # What a model of examples/image.c says of its messages.
        add_test(NAME mpi.${family}.model
            COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/model.py --family ${family}
                    --recorder $<TARGET_FILE:liblull-record-${family}> --lull $<TARGET_FILE:lull>)
        set_tests_properties(mpi.${family}.model PROPERTIES LABELS mpi SKIP_RETURN_CODE 77
                             TIMEOUT 900)
        # Every function of mpi.h is wrapped, or is listed as one that is not.
        add_test(NAME mpi.${family}.functions
            COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/src/record/mpi/generate.py --check
                    ${PROJECT_SOURCE_DIR}/src/record/mpi/functions.txt
                    ${CMAKE_BINARY_DIR}/generated/record-${family}/mpi.i)
        set_tests_properties(mpi.${family}.functions PROPERTIES LABELS quick TIMEOUT 60)
        add_test(NAME mpi.${family}.closing
            COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/closing.py
                    ${CMAKE_BINARY_DIR}/generated/record-${family}/mpi_wrappers.c)
        set_tests_properties(mpi.${family}.closing PROPERTIES LABELS quick TIMEOUT 60)
    endforeach()
    # OpenSHMEM. What UCX does to see memory come and go makes Open MPI 4.1 of Debian 12 die at the end.
    if(TARGET liblull-record-openmpi-shmem)
        add_test(NAME mpi.openmpi.shmem
            COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/run.py --family openmpi --shmem
                    --recorder $<TARGET_FILE:liblull-record-openmpi-shmem>
                    --digest $<TARGET_FILE:mpi_digest> --lull $<TARGET_FILE:lull>
                    ${CMAKE_CURRENT_LIST_DIR}/shmem/shmem.c)
        set_tests_properties(mpi.openmpi.shmem PROPERTIES LABELS mpi SKIP_RETURN_CODE 77 TIMEOUT 900
                             ENVIRONMENT OMPI_MCA_opal_common_ucx_opal_mem_hooks=0)
        # Every function of shmem.h is wrapped, or is one that is left out.
        add_test(NAME mpi.openmpi.shmem.functions
            COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/src/record/shmem/generate.py --check
                    ${CMAKE_BINARY_DIR}/generated/record-openmpi/shmem.i)
        set_tests_properties(mpi.openmpi.shmem.functions PROPERTIES LABELS quick TIMEOUT 60)
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
                COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/agree.py
                        --recorder $<TARGET_FILE:liblull-record-openmpi>
                        --digest $<TARGET_FILE:mpi_digest> ${program})
            set_tests_properties(mpi.eztrace.${name} PROPERTIES LABELS mpi SKIP_RETURN_CODE 77
                                 TIMEOUT 900)
        endforeach()
    endif()
endif()
