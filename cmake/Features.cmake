# SPDX-License-Identifier: BSD-3-Clause
# Libraries. What is missing switches its feature off; `lull info` says which and why.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
# In a bundle libraries are part of the program, so that none of them comes into one process with another version that an
# MPI library brings along. libdw stays a shared library (scripts/bundle).
set(shared_suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
if(LULL_BUNDLE)
    list(PREPEND CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
find_package(ZLIB REQUIRED)
pkg_check_modules(POPT REQUIRED IMPORTED_TARGET popt)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_search_module(LUA REQUIRED IMPORTED_TARGET lua5.4 lua-5.4 lua54)

set(lull_features "")
macro(lull_feature name found what)
    if(${found})
        set(LULL_HAVE_${name} 1)
        string(APPEND lull_features "    {\"${name}\", 1, \"${what}\", \"\"},\n")
    else()
        set(LULL_HAVE_${name} 0)
        string(APPEND lull_features "    {\"${name}\", 0, \"${what}\", \"${ARGV3}\"},\n")
    endif()
endmacro()

pkg_check_modules(OTF2 IMPORTED_TARGET otf2)
lull_feature(OTF2 OTF2_FOUND "read and write OTF2 archives" "library otf2 was not found at build time")
set(suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
set(CMAKE_FIND_LIBRARY_SUFFIXES ${shared_suffixes})
pkg_check_modules(LIBDW IMPORTED_TARGET libdw)
set(CMAKE_FIND_LIBRARY_SUFFIXES ${suffixes})
lull_feature(LIBDW LIBDW_FOUND "show call sites with function, file and line"
             "library libdw was not found at build time")
pkg_check_modules(ISAL IMPORTED_TARGET libisal)
lull_feature(ISAL ISAL_FOUND "inflate compressed Paraver traces at full speed"
             "library isal was not found at build time; zlib takes its place")
pkg_check_modules(ZSTD IMPORTED_TARGET libzstd)
lull_feature(ZSTD ZSTD_FOUND "pack runs, and read packed ones"
             "library libzstd was not found at build time")
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
lull_feature(HWLOC HWLOC_FOUND "measure this machine" "library hwloc was not found at build time")
set(CMAKE_FIND_LIBRARY_SUFFIXES ${shared_suffixes})
if(LULL_BUNDLE) # the C library is the system's
    foreach(package POPT JANSSON LUA OTF2 ISAL ZSTD HWLOC)
        if(TARGET PkgConfig::${package})
            get_target_property(libraries PkgConfig::${package} INTERFACE_LINK_LIBRARIES)
            list(TRANSFORM libraries REPLACE ".*/lib(m|dl|rt|pthread)\\.a$" "\\1")
            set_target_properties(PkgConfig::${package} PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
        endif()
    endforeach()
endif()
# libclang reads the loops of lull model kernel: its header here, its library when that command runs.
file(GLOB LULL_LLVM_FOLDERS /usr/lib/llvm-* /usr/local/llvm-* /opt/llvm*)
list(SORT LULL_LLVM_FOLDERS COMPARE NATURAL ORDER DESCENDING)
list(TRANSFORM LULL_LLVM_FOLDERS APPEND /include OUTPUT_VARIABLE LULL_LLVM_INCLUDES)
find_path(LULL_LIBCLANG_INCLUDE clang-c/Index.h HINTS ${LULL_LLVM_INCLUDES})
get_filename_component(LULL_LIBCLANG_FOLDER "${LULL_LIBCLANG_INCLUDE}/../lib" ABSOLUTE)
file(GLOB LULL_LIBCLANG ${LULL_LIBCLANG_FOLDER}/libclang.so.1 ${LULL_LIBCLANG_FOLDER}/libclang-*.so.1
     ${LULL_LIBCLANG_FOLDER}/libclang.so)
list(APPEND LULL_LIBCLANG libclang.so.1) # the loader may find it
list(GET LULL_LIBCLANG 0 LULL_LIBCLANG)
lull_feature(LIBCLANG LULL_LIBCLANG_INCLUDE "predict the performance of loops in C"
             "header clang-c/Index.h of libclang was not found at build time")
# The recorder: its wrappers of MPI functions are generated from the mpi.h of each family.
find_package(Python3 COMPONENTS Interpreter)
# The interpreter itself: what is called python3 may be a script that looks for one at each start, which
# takes three times as long as the interpreter's own start.
if(Python3_FOUND)
    execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)"
                    OUTPUT_VARIABLE interpreter OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(EXISTS "${interpreter}")
        set(Python3_EXECUTABLE ${interpreter})
    endif()
endif()
find_program(LULL_MPICC_openmpi NAMES mpicc.openmpi)
find_program(LULL_MPICC_mpich NAMES mpicc.mpich)
foreach(family openmpi mpich)
    set(LULL_RECORDS_${family} FALSE)
    if(Python3_FOUND AND LULL_MPICC_${family})
        set(LULL_RECORDS_${family} TRUE)
    endif()
endforeach()
lull_feature(RECORD_OPENMPI LULL_RECORDS_openmpi "record programs of Open MPI"
             "mpicc.openmpi or python3 was not found at build time")
lull_feature(RECORD_MPICH LULL_RECORDS_mpich "record programs of MPICH, Intel MPI, MVAPICH, Cray MPICH"
             "mpicc.mpich or python3 was not found at build time")
# What lull bench starts to measure messages and OpenMP: see cmake/Bench.cmake.
lull_feature(BENCH_OPENMPI LULL_MPICC_openmpi "measure messages of Open MPI"
             "mpicc.openmpi was not found at build time")
lull_feature(BENCH_MPICH LULL_MPICC_mpich "measure messages of MPICH"
             "mpicc.mpich was not found at build time")
lull_feature(TEAM_OPENMPI LULL_MPICC_openmpi "read runs under mpirun of Open MPI"
             "mpicc.openmpi was not found at build time")
lull_feature(TEAM_MPICH LULL_MPICC_mpich "read runs under mpirun of MPICH"
             "mpicc.mpich was not found at build time")
foreach(compiler gcc clang)
    find_program(LULL_CC_${compiler} NAMES ${compiler})
    set(LULL_OPENMP_${compiler} FALSE)
    set(probe ${CMAKE_BINARY_DIR}/generated/openmp-${compiler})
    file(WRITE ${probe}.c "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n")
    if(LULL_CC_${compiler})
        execute_process(COMMAND ${LULL_CC_${compiler}} -fopenmp ${probe}.c -o ${probe}
                        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(failed EQUAL 0)
            set(LULL_OPENMP_${compiler} ${LULL_CC_${compiler}})
        endif()
    endif()
    string(TOUPPER ${compiler} upper)
    lull_feature(BENCH_OPENMP_${upper} LULL_OPENMP_${compiler} "measure OpenMP of ${compiler}"
                 "${compiler} or its OpenMP library was not found at build time")
endforeach()
string(REPLACE "\n" " \\\n" lull_features_lines "${lull_features}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/features.h.in ${CMAKE_BINARY_DIR}/generated/lull_features.h @ONLY)
include_directories(${CMAKE_BINARY_DIR}/generated)
