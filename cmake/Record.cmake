# SPDX-License-Identifier: BSD-3-Clause
# What is loaded into the measured program: one shared object without MPI, and one per MPI family
# that has a compiler wrapper here. All from the same sources; libmpi is not linked: its functions
# are those that the program brings.
set(LULL_RECORD_FOLDER ${CMAKE_INSTALL_LIBDIR}/lull)

# What all recorders share is compiled once. Optimised wherever a program pays for it. Under a sanitizer it
# is only tested, with programs that are under the same one.
function(lull_recorder_flags target)
    target_include_directories(${target} PRIVATE src include)
    set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
    if(NOT LULL_SANITIZE)
        target_compile_options(${target} PRIVATE -O3)
    elseif(LULL_SANITIZE MATCHES "address") # which takes longer to optimise than the tests gain by it
        target_compile_options(${target} PRIVATE -O0)
    endif()
endfunction()

file(GLOB sources CONFIGURE_DEPENDS src/record/*.c src/record/thread/*.c src/record/store/*.c src/record/site/*.c
     src/record/omp/*.c src/record/sample/*.c src/record/counters/*.c src/record/file/*.c src/record/device/*.c src/tape/*.c)
add_library(lull_record_parts OBJECT ${sources})
lull_unity(lull_record_parts)
# Each of these has a table `next` of the functions of the C library that it stands in front of (src/record/next.h).
set_source_files_properties(src/record/file/descriptors.c src/record/file/streams.c src/record/seccomp.c
                            src/record/thread/locks.c src/record/thread/waits.c src/record/device/variables.c
                            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
lull_recorder_flags(lull_record_parts)

# lull_recorder(target sources...): a recorder of what all share and of these sources. Names are bound when
# they are used first, because a preloaded object comes also into programs without MPI.
function(lull_recorder target)
    add_library(${target} MODULE $<TARGET_OBJECTS:lull_record_parts> ${ARGN})
    lull_recorder_flags(${target})
    set_target_properties(${target} PROPERTIES PREFIX "" LINKER_LANGUAGE C)
    target_link_options(${target} PRIVATE -Wl,-z,lazy)
    target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    install(TARGETS ${target} LIBRARY DESTINATION ${LULL_RECORD_FOLDER})
endfunction()

lull_recorder(liblull-record)

# lull_wrappers(family room headers tables...): wrappers of the functions that the headers declare, as
# src/record/ROOM/generate.py makes them, with the tables, from what the family's compiler reads there.
# The file is generated/record-FAMILY/ROOM_wrappers.c.
function(lull_wrappers family room headers)
    set(generated ${CMAKE_BINARY_DIR}/generated/record-${family})
    set(generator ${PROJECT_SOURCE_DIR}/src/record/${room}/generate.py)
    file(MAKE_DIRECTORY ${generated})
    file(WRITE ${generated}/include_${room}.c "${headers}")
    add_custom_command(OUTPUT ${generated}/${room}.i
        COMMAND ${LULL_MPICC_${family}} -E -P ${generated}/include_${room}.c -o ${generated}/${room}.i
        DEPENDS ${generated}/include_${room}.c VERBATIM)
    add_custom_command(OUTPUT ${generated}/${room}_wrappers.c
        COMMAND ${Python3_EXECUTABLE} ${generator} ${ARGN} ${generated}/${room}.i
                ${generated}/${room}_wrappers.c
        DEPENDS ${generator} ${ARGN} ${generated}/${room}.i VERBATIM)
    # A thousand functions into which much is put in line: a compiler that optimises them takes as long as for
    # all else together, which only who is measured has a use for.
    if(CMAKE_BUILD_TYPE STREQUAL "Debug")
        set(flags -O0)
        if(LULL_SANITIZE MATCHES "undefined")
            list(APPEND flags -fno-sanitize=undefined)
        endif()
        set_source_files_properties(${generated}/${room}_wrappers.c PROPERTIES COMPILE_OPTIONS "${flags}")
    endif()
endfunction()

# lull_mpi_recorder(family target folders sources...): a recorder that sees the family's headers. These mark
# some functions that programs should not use any more; they are recorded all the same.
function(lull_mpi_recorder family target folders)
    lull_recorder(${target} ${ARGN})
    target_include_directories(${target} SYSTEM PRIVATE ${folders})
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
endfunction()

# lull_mpi_folders(family RESULT): where the family's mpi.h is.
function(lull_mpi_folders family result)
    execute_process(COMMAND ${LULL_MPICC_${family}} -show OUTPUT_VARIABLE command OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX MATCHALL "-I[^ ]+" folders "${command}")
    list(TRANSFORM folders REPLACE "^-I" "")
    set(${result} ${folders} PARENT_SCOPE)
endfunction()

# One recorder per family of MPI libraries, from the table of functions and the family's mpi.h; with
# OpenSHMEM, where the family brings that, another, as other programs may have functions with such names.
function(lull_family_recorders family)
    lull_mpi_folders(${family} folders)
    set(record ${PROJECT_SOURCE_DIR}/src/record)
    set(generated ${CMAKE_BINARY_DIR}/generated/record-${family})
    set(target liblull-record-${family})

    lull_wrappers(${family} mpi "#include <mpi.h>\n#if __has_include(<mpi-ext.h>)\n#include <mpi-ext.h>\n#endif\n"
                  ${record}/mpi/functions.txt)
    file(GLOB sources CONFIGURE_DEPENDS src/record/mpi/*.c)
    lull_mpi_recorder(${family} ${target} "${folders}" ${sources} ${generated}/mpi_wrappers.c
                      ${record}/shmem/absent.c)
    list(GET folders 0 first)
    if(family STREQUAL openmpi AND EXISTS ${first}/shmemx.h)
        lull_wrappers(${family} shmem "#include <shmem.h>\n#include <shmemx.h>\n")
        lull_mpi_recorder(${family} ${target}-shmem "${folders}" $<TARGET_OBJECTS:${target}>
                          ${record}/shmem/shmem.c ${generated}/shmem_wrappers.c)
    endif()
endfunction()

# What `--filter` needs: names of functions, which the recorder asks for nowhere else.
add_library(liblull-filter MODULE $<TARGET_OBJECTS:lull_filter>)
set_target_properties(liblull-filter PROPERTIES PREFIX "" LINKER_LANGUAGE C)
target_link_libraries(liblull-filter PRIVATE lull_binary)
target_link_options(liblull-filter PRIVATE -Wl,--exclude-libs,ALL)
install(TARGETS liblull-filter LIBRARY DESTINATION ${LULL_RECORD_FOLDER})
add_dependencies(liblull-record liblull-filter)

# Back-ends for devices (src/record/device/device.h), which the runtimes of the devices load. They need nothing of
# the runtimes to be built. A runtime never unloads them, or it would call what is no longer there.
function(lull_device_backend name)
    set(target liblull-record-${name})
    add_library(${target} MODULE src/record/device/${name}/${name}.c src/record/site/map.c)
    lull_recorder_flags(${target})
    # A fence is nothing to gcc's thread sanitizer; what it orders is read and written by atomic operations.
    if(LULL_SANITIZE STREQUAL "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE -Wno-tsan)
    endif()
    set_target_properties(${target} PROPERTIES PREFIX "" LINKER_LANGUAGE C)
    target_link_options(${target} PRIVATE -Wl,-z,nodelete)
    target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    install(TARGETS ${target} LIBRARY DESTINATION ${LULL_RECORD_FOLDER})
    add_dependencies(liblull-record ${target})
endfunction()
lull_device_backend(opencl)
lull_device_backend(nccl)
lull_device_backend(cuda)
lull_device_backend(rocm)
# What the back-end declares of CUDA itself is compared with CUDA's headers, where these are.
find_path(LULL_CUPTI_HEADERS cupti.h HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include extras/CUPTI/include)
find_path(LULL_CUDA_HEADERS cuda_runtime_api.h HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include)
if(LULL_CUPTI_HEADERS AND LULL_CUDA_HEADERS)
    add_library(lull_record_cuda_headers OBJECT src/record/device/cuda/against_headers.c)
    target_include_directories(lull_record_cuda_headers PRIVATE src)
    target_include_directories(lull_record_cuda_headers SYSTEM PRIVATE ${LULL_CUPTI_HEADERS} ${LULL_CUDA_HEADERS})
endif()

foreach(family openmpi mpich)
    if(LULL_RECORDS_${family})
        lull_family_recorders(${family})
    endif()
endforeach()
