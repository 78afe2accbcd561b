# In place of record.cmake and mpi.cmake where lull is built under sanitizers: programs that are under
# the same ones, recorded by a recorder that is, too. What they check of the run is the same.
set(sanitized -fsanitize=${LULL_SANITIZE} -fno-sanitize-recover=all)
get_filename_component(short ${CMAKE_C_COMPILER} NAME_WE)

# sanitized_test(name arguments of run.py...)
# What lull makes of a run has nothing to do with sanitizers in the program: it is looked at in
# `make check-all` alone. Programs may have threads when they end: the thread sanitizer gives these a second
# to be caught in.
function(sanitized_test name)
    record_test(sanitized.${name} quick --as-it-is ${ARGN})
    record_test(sanitized.whole.${name} quick ${ARGN})
    set_tests_properties(record.sanitized.${name} record.sanitized.whole.${name} PROPERTIES
                         ENVIRONMENT TSAN_OPTIONS=atexit_sleep_ms=1000)
endfunction()

foreach(name marked pause_threads short_threads forks locks)
    record_program(${name} ${CMAKE_C_COMPILER} -pthread ${sanitized})
endforeach()
# OpenCL's driver and its compiler keep memory to the end, and are not under the thread sanitizer.
opencl_tests(sanitized.opencl ${CMAKE_C_COMPILER} ${sanitized})
get_property(of_opencl DIRECTORY PROPERTY TESTS)
list(FILTER of_opencl INCLUDE REGEX "^record\\.sanitized\\.opencl")
set_tests_properties(${of_opencl} PROPERTIES
    ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0;TSAN_OPTIONS=ignore_noninstrumented_modules=1 atexit_sleep_ms=1000")
nccl_tests(sanitized.nccl ${CMAKE_C_COMPILER} ${sanitized})
# The mock keeps memory to the end, too. One form calls exit() in a signal handler.
cuda_tests(sanitized.cuda ${CMAKE_C_COMPILER} ${sanitized})
get_property(of_cuda DIRECTORY PROPERTY TESTS)
list(FILTER of_cuda INCLUDE REGEX "^record\\.sanitized\\.cuda")
set_tests_properties(${of_cuda} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0;TSAN_OPTIONS=atexit_sleep_ms=1000 report_signal_unsafe=0")
# So does this one.
rocm_tests(sanitized.rocm ${CMAKE_C_COMPILER} ${sanitized})
get_property(of_rocm DIRECTORY PROPERTY TESTS)
list(FILTER of_rocm INCLUDE REGEX "^record\\.sanitized\\.rocm")
set_tests_properties(${of_rocm} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0;TSAN_OPTIONS=atexit_sleep_ms=1000 report_signal_unsafe=0")
sanitized_test(marked -- ${record_bin}/marked.${short})
sanitized_test(counted --option=--counters=fake:a=1,fake:b=2 -- ${record_bin}/marked.${short})
sanitized_test(callpath --option=--callpath=8 -- ${record_bin}/marked.${short})
sanitized_test(profile --option=--profile -- ${record_bin}/marked.${short})
sanitized_test(forks -- ${record_bin}/forks.${short})
sanitized_test(sampled --option=--sample=1000 -- ${record_bin}/marked.${short})
sanitized_test(sampled.fake --option=--sample=fake:10000 -- ${record_bin}/marked.${short})
sanitized_test(sampled.forks --option=--sample=1000 -- ${record_bin}/forks.${short})
sanitized_test(sampled.stack --option=--sample=1000 --option=--sample-stack -- ${record_bin}/marked.${short})
# Threads that come and go, that rest and are recorded again, and that seldom enter the recorder.
sanitized_test(sampled.short_threads --option=--sample=1000 -- ${record_bin}/short_threads.${short} few)
sanitized_test(sampled.pause_threads --option=--sample=1000 -- ${record_bin}/pause_threads.${short} turns)
sanitized_test(sampled.locks --option=--sample=1000 --option=--sample-stack -- ${record_bin}/locks.${short} mutex)
# The thread sanitizer holds signals back, and hands them on when it likes.
if(LULL_SANITIZE MATCHES "address")
    sanitized_test(sampled.timer --option=--sample=timer:1000 -- ${record_bin}/marked.${short})
    sanitized_test(sampled.timer.forks --option=--sample=timer:1000 -- ${record_bin}/forks.${short})
endif()
foreach(form long turns)
    sanitized_test(pause_threads.${form} -- ${record_bin}/pause_threads.${short} ${form})
endforeach()
sanitized_test(short_threads -- ${record_bin}/short_threads.${short} few)
foreach(form mutex condition semaphore readwrite c)
    sanitized_test(locks.${form} -- ${record_bin}/locks.${short} ${form})
endforeach()

# The recorder comes before the sanitizer's library, as where `lull record` starts the program. MPI
# never frees some memory: where that is looked at, which takes long, run.py demands only that none of
# it is the recorder's. UCX 1.18, below MPICH 4.2, asks whether processes reach each other by a
# process_vm_readv() that gcc 14's address sanitizer takes for a write to wherever it points; with the
# recorder and without.
set(settings TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/thread.supp UCX_TLS=^cma)
set(leaks_no ASAN_OPTIONS=verify_asan_link_order=0:handle_sigill=1:detect_leaks=0)
set(leaks_yes ASAN_OPTIONS=verify_asan_link_order=0:handle_sigill=1:exitcode=0:malloc_context_size=2)

# sanitized_mpi(family NAME...): programs of tests/mpi/programs
function(sanitized_mpi family)
    if(NOT TARGET liblull-record-${family})
        return()
    endif()
    string(REPLACE ";" "\\;" flags "${sanitized}") # one word
    foreach(name ${ARGN})
        set(words ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/mpi/run.py --family ${family}
                  --recorder $<TARGET_FILE:liblull-record-${family}>
                  --digest $<TARGET_FILE:mpi_digest> --lull $<TARGET_FILE:lull>
                  "--sanitize=${flags}" ${PROJECT_SOURCE_DIR}/tests/mpi/programs/${name}.c)
        add_test(NAME mpi.sanitized.${family}.${name} COMMAND ${words} --without=team --without=profile)
        add_test(NAME mpi.sanitized.whole.${family}.${name} COMMAND ${words})
        set_tests_properties(mpi.sanitized.${family}.${name} mpi.sanitized.whole.${family}.${name} PROPERTIES
            LABELS mpi TIMEOUT 1800 SKIP_RETURN_CODE 77
            ENVIRONMENT "${settings};${leaks_no}")
    endforeach()
endfunction()
add_executable(mpi_digest ${PROJECT_SOURCE_DIR}/tests/mpi/digest.c)
target_link_libraries(mpi_digest PRIVATE lull_trace lull_base)
# OpenMP's runtimes are not under the thread sanitizer. What order they bring about the recorder says
# itself (src/record/omp/team.h), and what they do in memory is not looked at. The programs' own data would
# need more: they are compiled without it, so that the recorder alone is looked at.
# UCX 1.18 watches madvise(), by which the C library gives back the stack of a thread that has ended, and
# takes a lock there: through the recorder, whose instrumented code finds no sanitizer in that thread.
if(LULL_SANITIZE MATCHES "thread")
    list(APPEND settings UCX_MEM_EVENTS=no)
    sanitized_mpi(openmpi threads_requests matched_threads intercommunicators)
    sanitized_mpi(mpich threads_requests)
    late_programs(${CMAKE_C_COMPILER} ${sanitized})
    sanitized_test(late -- ${record_bin}/late)
    sanitized_test(sampled.late --option=--sample=1000 -- ${record_bin}/late)
    foreach(form barrier lock busy threads)
        sanitized_test(late_calls.${form} -- ${record_bin}/late_calls ${form})
    endforeach()
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libtsan.so
                    OUTPUT_VARIABLE library OUTPUT_STRIP_TRAILING_WHITESPACE)
    foreach(name omp_constructs pause_omp nested_threads)
        foreach(compiler ${LULL_C_COMPILERS})
            get_filename_component(short ${compiler} NAME_WE)
            record_program(${name} ${compiler} -fopenmp)
            sanitized_test(${name}.${short} --env LD_PRELOAD=${library}
                           --env TSAN_OPTIONS=ignore_noninstrumented_modules=1 ${${name}_env}
                           -- ${record_bin}/${name}.${short})
            sanitized_test(sampled.${name}.${short} --option=--sample=1000 --env LD_PRELOAD=${library}
                           --env TSAN_OPTIONS=ignore_noninstrumented_modules=1 ${${name}_env}
                           -- ${record_bin}/${name}.${short})
        endforeach()
    endforeach()
    return()
endif()
sanitized_mpi(openmpi threads_requests errors errors_jump pause_handles spawn intercommunicators
              onesided_epochs requests chunk_ends)
# Not large_counts, under which MPICH 4.0 now and then hangs in its own MPI_Finalize: one process waits
# for the other in PMI, which waits in UCX. It does so between nodes, too, without a recorder.
sanitized_mpi(mpich threads_requests persistent_collectives partitioned isendrecv sessions requests
              collectives_nonblocking communicators)
if(TARGET liblull-record-mpich)
    set_tests_properties(mpi.sanitized.mpich.communicators mpi.sanitized.whole.mpich.communicators PROPERTIES
                         ENVIRONMENT "${settings};${leaks_yes}")
endif()

# Races inside of a region are between runtimes that are not under the sanitizer.
foreach(name omp_constructs pause_omp nested_threads)
    record_program(${name} ${CMAKE_C_COMPILER} -fopenmp ${sanitized})
    sanitized_test(${name} -- ${record_bin}/${name}.${short})
    # Another compiler's program gets this one's sanitizers from outside.
    if(LULL_CLANG AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        record_program(${name} ${LULL_CLANG} -fopenmp)
        execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so
                        OUTPUT_VARIABLE library OUTPUT_STRIP_TRAILING_WHITESPACE)
        sanitized_test(${name}.clang --env LD_PRELOAD=${library} --env ASAN_OPTIONS=detect_leaks=0
                       ${${name}_env} -- ${record_bin}/${name}.clang)
    endif()
endforeach()

# The same by clang, whose sanitizers look at other things, with a recorder that it has made. `lull`
# takes the recorder that lies beside it.
if(LULL_CLANG AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(by_clang ${record_bin}/by_clang)
    get_target_property(sources lull_record_parts SOURCES)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/record/*.h
         ${PROJECT_SOURCE_DIR}/src/tape/*.h)
    add_custom_command(OUTPUT ${by_clang}/liblull-record.so DEPENDS ${sources} ${headers}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${by_clang}
        COMMAND ${LULL_CLANG} -std=c17 -D_GNU_SOURCE -DLULL_VERSION="${LULL_VERSION}" -O0 -g1 -fPIC -shared
                -fvisibility=hidden ${sanitized}
                -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include ${sources}
                -o ${by_clang}/liblull-record.so -ldl -lpthread VERBATIM)
    # The recorder and the mock declare CUPTI each for itself, which clang from 17 on compares at calls by pointer.
    set(of_cupti ${sanitized} -fno-sanitize=function)
    set(cuda_sources ${PROJECT_SOURCE_DIR}/src/record/device/cuda/cuda.c ${PROJECT_SOURCE_DIR}/src/record/site/map.c)
    add_custom_command(OUTPUT ${by_clang}/liblull-record-cuda.so DEPENDS ${cuda_sources} ${headers}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${by_clang}
        COMMAND ${LULL_CLANG} -std=c17 -D_GNU_SOURCE -O0 -g1 -fPIC -shared -fvisibility=hidden -Wl,-z,nodelete ${of_cupti}
                -I${PROJECT_SOURCE_DIR}/src ${cuda_sources} -o ${by_clang}/liblull-record-cuda.so -ldl -lpthread VERBATIM)
    add_custom_command(OUTPUT ${by_clang}/lull DEPENDS lull ${by_clang}/liblull-record.so ${by_clang}/liblull-record-cuda.so
        COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:lull> ${by_clang}/lull VERBATIM)
    add_custom_target(record.by_clang ALL DEPENDS ${by_clang}/lull)
    set(record_variant .by_clang)
    foreach(name marked pause_threads short_threads forks locks)
        record_program(${name} ${LULL_CLANG} -pthread ${sanitized})
    endforeach()
    foreach(name omp_constructs pause_omp nested_threads)
        record_program(${name} ${LULL_CLANG} -fopenmp ${sanitized})
    endforeach()
    set(cuda_lull ${by_clang}/lull)
    cuda_tests(sanitized.by_clang.cuda ${LULL_CLANG} ${of_cupti})
    unset(cuda_lull)
    get_property(of_cuda DIRECTORY PROPERTY TESTS)
    list(FILTER of_cuda INCLUDE REGEX "^record\\.sanitized\\.by_clang\\.cuda")
    set_tests_properties(${of_cuda} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
    unset(record_variant)
    get_filename_component(clang ${LULL_CLANG} NAME_WE)
    foreach(test marked "pause_threads long" "pause_threads turns" "short_threads few" forks
            omp_constructs pause_omp nested_threads)
        separate_arguments(words UNIX_COMMAND ${test})
        list(POP_FRONT words name)
        string(REPLACE " " "." title ${test})
        sanitized_test(by_clang.${title} --lull ${by_clang}/lull ${${name}_env}
                       -- ${record_bin}/${name}.by_clang.${clang} ${words})
    endforeach()
endif()
