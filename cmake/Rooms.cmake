# SPDX-License-Identifier: BSD-3-Clause
# lull_room(name SEES rooms... USES libraries...): a static library lull_<name> of all sources in
# src/<name>, linked to the rooms it sees and the libraries it uses, and to nothing else.
option(LULL_SHARED_ROOMS "rooms as shared libraries, so that one can be exchanged (scripts/mutate)" OFF)
option(LULL_UNITY "each room compiled as one unit: less to compile, more to compile anew after a change" OFF)
set(LULL_ROOM_LIBRARY STATIC)
if(LULL_SHARED_ROOMS)
    set(LULL_ROOM_LIBRARY SHARED)
endif()
# lull_unity(TARGET): one unit with LULL_UNITY. What is private to a file has a name that is unique in the room, but may
# hide a variable of another file: builds without LULL_UNITY warn of what one file hides.
function(lull_unity target)
    if(LULL_UNITY)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
        target_compile_options(${target} PRIVATE -Wno-shadow)
    endif()
endfunction()
# Under the address sanitizer optimising these rooms takes longer than their tests gain by it.
set(lull_quickly_compiled machine diagnose report study view wave launch)
function(lull_room name)
    cmake_parse_arguments(ROOM "" "" "SEES;USES" ${ARGN})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.c)
    if(NOT LULL_HAVE_OTF2)
        list(FILTER sources EXCLUDE REGEX "/format/otf2")
    endif()
    list(FILTER sources EXCLUDE REGEX "/bench/helper/") # programs of their own: cmake/Bench.cmake
    list(FILTER sources EXCLUDE REGEX "/team/mpi/") # a library per family of MPI: cmake/Team.cmake
    list(TRANSFORM ROOM_SEES PREPEND lull_)
    if(sources)
        add_library(lull_${name} ${LULL_ROOM_LIBRARY} ${sources})
        set_target_properties(lull_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
        target_include_directories(lull_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
        target_link_libraries(lull_${name} PUBLIC ${ROOM_SEES} PRIVATE ${ROOM_USES})
        lull_unity(lull_${name})
        if(LULL_SANITIZE MATCHES "address" AND name IN_LIST lull_quickly_compiled)
            target_compile_options(lull_${name} PRIVATE -O0)
        endif()
    else() # headers only
        add_library(lull_${name} INTERFACE)
        target_include_directories(lull_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
        target_link_libraries(lull_${name} INTERFACE ${ROOM_SEES})
    endif()
endfunction()
