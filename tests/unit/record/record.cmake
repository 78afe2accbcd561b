# The recorder's parts as a library, for tests that are linked with them: but those that stand in front
# of the C library's calls for files. With clang they are under its sanitizers in every build.
file(GLOB support_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/support/record/*.c)
set(in_front "/src/record/file/(descriptors|streams)\\.c")
set(recorder_parts $<FILTER:$<TARGET_OBJECTS:lull_record_parts>,EXCLUDE,${in_front}>)
set(flags)
if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND NOT LULL_SANITIZE)
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=all)
    try_compile(LULL_CLANG_SANITIZES ${CMAKE_CURRENT_BINARY_DIR}/probe SOURCES
                ${CMAKE_CURRENT_SOURCE_DIR}/unit/record/test_perf_page.c
                COMPILE_DEFINITIONS -fsanitize=address,undefined -D_GNU_SOURCE -I${PROJECT_SOURCE_DIR}/src
                LINK_OPTIONS -fsanitize=address,undefined LINK_LIBRARIES PkgConfig::CMOCKA)
    if(LULL_CLANG_SANITIZES)
        get_target_property(recorder_parts lull_record_parts SOURCES)
        list(FILTER recorder_parts EXCLUDE REGEX ${in_front})
    else()
        set(flags)
    endif()
endif()
add_library(lull_test_recorder STATIC ${recorder_parts} ${support_sources})
target_include_directories(lull_test_recorder PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(lull_test_recorder PUBLIC lull_test_support Threads::Threads ${CMAKE_DL_LIBS})
target_compile_options(lull_test_recorder PUBLIC ${flags})
target_link_options(lull_test_recorder PUBLIC ${flags} INTERFACE
    -Wl,--wrap=mmap,--wrap=mremap,--wrap=posix_fallocate,--wrap=clock_gettime,--wrap=getrusage)

# What of it sees mpi.h, with that of the first family that is here.
foreach(family openmpi mpich)
    if(LULL_RECORDS_${family} AND NOT TARGET lull_test_mpi)
        get_target_property(folders liblull-record-${family} INCLUDE_DIRECTORIES)
        add_library(lull_test_mpi STATIC ${PROJECT_SOURCE_DIR}/src/record/mpi/requests.c
                    ${PROJECT_SOURCE_DIR}/src/record/mpi/library.c)
        target_include_directories(lull_test_mpi SYSTEM PUBLIC ${folders})
        target_link_libraries(lull_test_mpi PUBLIC lull_test_recorder)
    endif()
endforeach()
if(NOT TARGET lull_test_mpi)
    list(FILTER test_sources EXCLUDE REGEX "/unit/record/test_requests\\.c$")
endif()

function(lull_link_recorder program)
    target_link_libraries(${program} PRIVATE $<TARGET_NAME_IF_EXISTS:lull_test_mpi> lull_test_recorder)
endfunction()
