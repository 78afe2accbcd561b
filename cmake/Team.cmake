# SPDX-License-Identifier: BSD-3-Clause
# How processes of lull that mpirun started reach each other: a library per family of MPI, which lull opens when
# it was started by that family's launcher. They are installed beside the recorder. With the family's own
# compiler, as MPI is linked here; in a bundle without MPI, which has other names elsewhere; never sanitized.
set(team_sources ${PROJECT_SOURCE_DIR}/src/team/mpi/library.c)
set(team_flags -std=c17 -D_GNU_SOURCE -O2 -g -fPIC -shared -fvisibility=hidden -Wall -Wextra -Wshadow
               -I${PROJECT_SOURCE_DIR}/src ${lull_own_flags})
if(LULL_WERROR)
    list(APPEND team_flags -Werror)
endif()
foreach(family openmpi mpich)
    if(LULL_MPICC_${family})
        set(team_library ${CMAKE_BINARY_DIR}/liblull-team-${family}.so)
        set(team_compiler ${LULL_MPICC_${family}})
        if(LULL_BUNDLE)
            lull_mpi_folders(${family} folders)
            list(TRANSFORM folders PREPEND -I)
            set(team_compiler ${CMAKE_C_COMPILER} ${folders})
        endif()
        add_custom_command(OUTPUT ${team_library}
            COMMAND ${team_compiler} ${team_flags} ${team_sources} -o ${team_library}
            DEPENDS ${team_sources} ${PROJECT_SOURCE_DIR}/src/team/mpi/library.h
            COMMENT "Building team library of ${family}" VERBATIM)
        add_custom_target(liblull-team-${family} ALL DEPENDS ${team_library})
        install(PROGRAMS ${team_library} DESTINATION ${LULL_RECORD_FOLDER})
    endif()
endforeach()
