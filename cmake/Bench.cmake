# SPDX-License-Identifier: BSD-3-Clause
# The helper programs of lull bench: messages under each family of MPI libraries, and OpenMP of each
# compiler that is here, whatever lull itself is compiled with. They are installed beside the recorder,
# need nothing of lull, and are optimised always and never sanitized: they measure.
set(helper_folder ${PROJECT_SOURCE_DIR}/src/bench/helper)
set(helper_flags -std=c17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wshadow -I${PROJECT_SOURCE_DIR}/src
                 ${lull_own_flags})
if(LULL_WERROR)
    list(APPEND helper_flags -Werror)
endif()
file(GLOB helper_headers CONFIGURE_DEPENDS ${helper_folder}/*.h)

function(lull_bench_helper name compiler)
    cmake_parse_arguments(HELPER "" "" "SOURCES;FLAGS" ${ARGN})
    # clang notes the paths of sources in its calls of OpenMP as they are given: from here they are the same everywhere.
    string(REPLACE "${PROJECT_SOURCE_DIR}/" "" sources "${HELPER_SOURCES}")
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/${name}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        COMMAND ${compiler} ${helper_flags} ${HELPER_FLAGS} ${sources}
                -o ${CMAKE_BINARY_DIR}/${name} -lm
        DEPENDS ${HELPER_SOURCES} ${helper_headers} COMMENT "Building bench helper ${name}" VERBATIM)
    add_custom_target(${name}-helper ALL DEPENDS ${CMAKE_BINARY_DIR}/${name})
    install(PROGRAMS ${CMAKE_BINARY_DIR}/${name} DESTINATION ${LULL_RECORD_FOLDER})
endfunction()

file(GLOB mpi_sources CONFIGURE_DEPENDS ${helper_folder}/mpi_*.c)
foreach(family openmpi mpich)
    if(LULL_MPICC_${family})
        lull_bench_helper(lull-bench-${family} ${LULL_MPICC_${family}} SOURCES ${mpi_sources})
    endif()
endforeach()

file(GLOB openmp_sources CONFIGURE_DEPENDS ${helper_folder}/openmp_*.c)
foreach(compiler gcc clang)
    if(LULL_OPENMP_${compiler})
        lull_bench_helper(lull-bench-openmp-${compiler} ${LULL_OPENMP_${compiler}}
                          SOURCES ${openmp_sources} FLAGS -fopenmp)
    endif()
endforeach()
