# What is loaded into the measured program: one shared object without MPI, and one per MPI family
# that has a compiler wrapper here. All from the same sources; libmpi is not linked: its functions
# are those that the program brings.
set(LULL_RECORD_FOLDER ${CMAKE_INSTALL_LIBDIR}/lull)

function(lull_recorder_of target)
    add_library(${target} MODULE ${ARGN})
    target_include_directories(${target} PRIVATE src include)
    set_target_properties(${target} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden)
    # Optimised always: the program pays. Under a sanitizer it is only tested, with programs that are
    # under the same one. Names are bound when they are used first, because a preloaded object comes
    # also into programs without MPI.
    if(NOT LULL_SANITIZE)
        target_compile_options(${target} PRIVATE -O3)
    endif()
    target_link_options(${target} PRIVATE -Wl,-z,lazy)
    target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    install(TARGETS ${target} LIBRARY DESTINATION ${LULL_RECORD_FOLDER})
endfunction()

function(lull_recorder target)
    file(GLOB sources CONFIGURE_DEPENDS src/record/*.c src/record/thread/*.c src/record/store/*.c src/record/site/*.c
         src/record/omp/*.c src/record/counters/*.c src/record/function/*.c src/record/inject/*.c
         src/record/marks/*.c src/record/file/*.c src/tape/*.c)
    lull_recorder_of(${target} ${sources} ${ARGN})
endfunction()

lull_recorder(liblull-record)

# One recorder per family of MPI libraries, from the table of functions and the family's mpi.h.
function(lull_mpi_recorder family)
    set(wrapper ${LULL_MPICC_${family}})
    execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE command OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX MATCHALL "-I[^ ]+" folders "${command}")
    list(TRANSFORM folders REPLACE "^-I" "")

    set(generated ${CMAKE_BINARY_DIR}/generated/record-${family})
    set(source_folder ${PROJECT_SOURCE_DIR}/src/record/mpi)
    file(MAKE_DIRECTORY ${generated})
    file(WRITE ${generated}/include_mpi.c "#include <mpi.h>\n#if __has_include(<mpi-ext.h>)\n#include <mpi-ext.h>\n#endif\n")
    add_custom_command(OUTPUT ${generated}/mpi.i
        COMMAND ${wrapper} -E -P ${generated}/include_mpi.c -o ${generated}/mpi.i
        DEPENDS ${generated}/include_mpi.c VERBATIM)
    add_custom_command(OUTPUT ${generated}/wrappers.c
        COMMAND ${Python3_EXECUTABLE} ${source_folder}/generate.py ${source_folder}/functions.txt
                ${generated}/mpi.i ${generated}/wrappers.c
        DEPENDS ${source_folder}/generate.py ${source_folder}/functions.txt ${generated}/mpi.i VERBATIM)

    file(GLOB sources CONFIGURE_DEPENDS src/record/mpi/*.c src/record/inject/mpi/*.c src/record/shmem/absent.c)
    set(target liblull-record-${family})
    lull_recorder(${target} ${sources} ${generated}/wrappers.c)
    target_include_directories(${target} SYSTEM PRIVATE ${folders})
    # mpi.h marks some functions that programs should not use any more; they are recorded all the same.
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)

    # With OpenSHMEM, where the family brings that: a recorder of its own, as other programs may have
    # functions with such names.
    list(GET folders 0 first)
    if(family STREQUAL openmpi AND EXISTS ${first}/shmemx.h)
        set(source_folder ${PROJECT_SOURCE_DIR}/src/record/shmem)
        file(WRITE ${generated}/include_shmem.c "#include <shmem.h>\n#include <shmemx.h>\n")
        add_custom_command(OUTPUT ${generated}/shmem.i
            COMMAND ${wrapper} -E -P ${generated}/include_shmem.c -o ${generated}/shmem.i
            DEPENDS ${generated}/include_shmem.c VERBATIM)
        add_custom_command(OUTPUT ${generated}/shmem_wrappers.c
            COMMAND ${Python3_EXECUTABLE} ${source_folder}/generate.py ${generated}/shmem.i
                    ${generated}/shmem_wrappers.c
            DEPENDS ${source_folder}/generate.py ${generated}/shmem.i VERBATIM)
        lull_recorder_of(${target}-shmem $<TARGET_OBJECTS:${target}> ${source_folder}/shmem.c
                         ${generated}/shmem_wrappers.c)
        target_include_directories(${target}-shmem SYSTEM PRIVATE ${folders})
        target_compile_options(${target}-shmem PRIVATE -Wno-deprecated-declarations)
    endif()
endfunction()

# What `--filter` needs: names of functions, which the recorder asks for nowhere else.
add_library(liblull-filter MODULE $<TARGET_OBJECTS:lull_filter>)
set_target_properties(liblull-filter PROPERTIES PREFIX "" LINKER_LANGUAGE C)
target_link_libraries(liblull-filter PRIVATE lull_binary)
target_link_options(liblull-filter PRIVATE -Wl,--exclude-libs,ALL)
install(TARGETS liblull-filter LIBRARY DESTINATION ${LULL_RECORD_FOLDER})
add_dependencies(liblull-record liblull-filter)

foreach(family openmpi mpich)
    if(LULL_RECORDS_${family})
        lull_mpi_recorder(${family})
    endif()
endforeach()
