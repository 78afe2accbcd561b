# Programs with known behaviour, recorded and checked. Built by each compiler that is here, because
# the OpenMP runtimes differ.
if(Python3_FOUND)
    add_executable(check_run ${CMAKE_CURRENT_LIST_DIR}/check_run.c)
    target_link_libraries(check_run PRIVATE lull_metrics lull_trace lull_base m)
    add_executable(listing ${CMAKE_CURRENT_LIST_DIR}/listing.c)
    target_link_libraries(listing PRIVATE lull_trace lull_base)
    add_executable(comms_of ${CMAKE_CURRENT_LIST_DIR}/comms_of.c)
    target_link_libraries(comms_of PRIVATE lull_trace lull_base)
    add_executable(readings_of ${CMAKE_CURRENT_LIST_DIR}/readings_of.c)
    target_link_libraries(readings_of PRIVATE lull_trace lull_base)
    add_executable(check_waits ${CMAKE_CURRENT_LIST_DIR}/check_waits.c)
    target_link_libraries(check_waits PRIVATE lull_activity lull_trace lull_base)
    find_program(LULL_GCC NAMES gcc gcc-12 gcc-13 gcc-14)
    find_program(LULL_CLANG NAMES clang clang-14 clang-15 clang-16)
    set(LULL_C_COMPILERS ${LULL_GCC} ${LULL_CLANG}) # those that are here
    list(FILTER LULL_C_COMPILERS EXCLUDE REGEX "NOTFOUND$")
    set(if_names_are_known)
    if(LULL_HAVE_LIBDW)
        set(if_names_are_known --names)
    endif()
    set(record_bin ${CMAKE_CURRENT_BINARY_DIR}/record)
    file(MAKE_DIRECTORY ${record_bin})

    # record_program(name compiler flags...): tests/record/NAME.c as NAME.COMPILER, with what
    # record_variant says between
    function(record_program name compiler)
        get_filename_component(short ${compiler} NAME_WE)
        set(output ${record_bin}/${name}${record_variant}.${short})
        set(source ${PROJECT_SOURCE_DIR}/tests/record/${name}.c)
        add_custom_command(OUTPUT ${output} DEPENDS ${source}
            COMMAND ${compiler} -std=gnu17 -O1 -g -I${PROJECT_SOURCE_DIR}/include ${source}
                    -o ${output} ${ARGN} VERBATIM)
        add_custom_target(record.${name}${record_variant}.${short} ALL DEPENDS ${output})
    endfunction()

    # late_programs(compiler flags...): tests/record/late.c, late_calls.c, and their library
    function(late_programs compiler)
        set(late ${PROJECT_SOURCE_DIR}/tests/record/late)
        add_custom_command(OUTPUT ${record_bin}/liblate.so DEPENDS ${late}_library.c
            COMMAND ${compiler} -O1 -g -fPIC -shared ${ARGN} ${late}_library.c -o ${record_bin}/liblate.so VERBATIM)
        foreach(name late late_calls)
            set(source ${PROJECT_SOURCE_DIR}/tests/record/${name}.c)
            add_custom_command(OUTPUT ${record_bin}/${name} DEPENDS ${source} ${record_bin}/liblate.so
                COMMAND ${compiler} -std=gnu17 -O1 -g -pthread ${ARGN} -I${PROJECT_SOURCE_DIR}/include ${source}
                        -o ${record_bin}/${name} -L${record_bin} -llate -Wl,-rpath,${record_bin} VERBATIM)
        endforeach()
        add_custom_target(record.late ALL DEPENDS ${record_bin}/late ${record_bin}/late_calls)
    endfunction()

    # opencl_tests(prefix compiler flags...): tests/record/opencl.c and opencl_opened.c with the loader and driver of
    # OpenCL that are here, each form a test. Without the loader's headers there are none, and one says so.
    pkg_check_modules(OPENCL OpenCL)
    find_path(LULL_OPENCL_HEADERS CL/cl.h HINTS ${OPENCL_INCLUDE_DIRS})
    function(opencl_tests prefix compiler)
        if(NOT LULL_OPENCL_HEADERS OR NOT OPENCL_FOUND)
            add_test(NAME record.${prefix} COMMAND ${CMAKE_COMMAND} -E echo "skipped: no headers or loader of OpenCL")
            set_tests_properties(record.${prefix} PROPERTIES LABELS quick SKIP_REGULAR_EXPRESSION "^skipped: ")
            return()
        endif()
        record_program(opencl ${compiler} -Wall -Wextra -Werror -pthread ${ARGN} -isystem ${LULL_OPENCL_HEADERS}
                       -Wl,--no-as-needed ${OPENCL_LDFLAGS})
        record_program(opencl_opened ${compiler} -Wall -Wextra -Werror ${ARGN} -isystem ${LULL_OPENCL_HEADERS} -ldl)
        get_filename_component(short ${compiler} NAME_WE)
        set(layer ${record_bin}/opencl_layer.${short}.so)
        add_custom_command(OUTPUT ${layer} DEPENDS ${PROJECT_SOURCE_DIR}/tests/record/opencl_layer.c
            COMMAND ${compiler} -std=gnu17 -O1 -g -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror
                    -isystem ${LULL_OPENCL_HEADERS} ${PROJECT_SOURCE_DIR}/tests/record/opencl_layer.c -o ${layer} VERBATIM)
        add_custom_target(record.opencl_layer.${short} ALL DEPENDS ${layer})
        foreach(form plain profiled unordered queues threads fork pause unfinished exit abort off sums broken killed odd:timer
                     odd:other-clock odd:refuses odd:without-times odd:contradicts odd:backwards odd:runs-for-ever
                     opened:absent opened:platforms opened:info opened:context opened:extension)
            string(REPLACE ":" "." name ${form})
            add_test(NAME record.${prefix}.${name}
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/opencl.py --lull $<TARGET_FILE:lull>
                        --listing $<TARGET_FILE:listing> --program ${record_bin}/opencl${record_variant}.${short}
                        --opened ${record_bin}/opencl_opened${record_variant}.${short}
                        --layer ${layer} ${form})
            set_tests_properties(record.${prefix}.${name} PROPERTIES LABELS quick TIMEOUT 1800 SKIP_RETURN_CODE 77)
        endforeach()
    endfunction()

    # nccl_tests(prefix compiler flags...): each version of NCCL's interface for profilers, by a library of the tests' own.
    function(nccl_tests prefix compiler)
        record_program(nccl ${compiler} -Wall -Wextra -Werror ${ARGN} -ldl)
        get_filename_component(short ${compiler} NAME_WE)
        set(fake ${record_bin}/libnccl_fake.so)
        add_custom_command(OUTPUT ${fake} DEPENDS ${PROJECT_SOURCE_DIR}/tests/record/nccl_fake.c
            COMMAND ${compiler} -std=gnu17 -O1 -g -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror
                    ${PROJECT_SOURCE_DIR}/tests/record/nccl_fake.c -o ${fake} -ldl VERBATIM)
        add_custom_target(record.nccl_fake ALL DEPENDS ${fake})
        foreach(form 3 4 5 6 other uneven kernels)
            add_test(NAME record.${prefix}.${form}
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/nccl.py --lull $<TARGET_FILE:lull>
                        --listing $<TARGET_FILE:listing> --program ${record_bin}/nccl.${short} --fake ${fake}
                        --mock ${record_bin}/cuda_mock${record_variant}.${short} ${form})
            set_tests_properties(record.${prefix}.${form} PROPERTIES LABELS quick TIMEOUT 1800)
        endforeach()
    endfunction()
    include(${CMAKE_CURRENT_LIST_DIR}/cuda.cmake)
    include(${CMAKE_CURRENT_LIST_DIR}/rocm.cmake)

    # record_test(name program arguments...)
    function(record_test name label)
        add_test(NAME record.${name}
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/run.py
                    --lull $<TARGET_FILE:lull> --check $<TARGET_FILE:check_run> ${ARGN})
        set_tests_properties(record.${name} PROPERTIES LABELS ${label} TIMEOUT 1800
                             SKIP_RETURN_CODE 77)
    endfunction()

    # LLVM's OpenMP 14 looks through its list of threads while it replaces that by a longer one, and dies
    # of it in one of a hundred runs on a crowded machine, recorded or not. The list is four times as long
    # as this from the start, which nothing else in that program depends on.
    set(nested_threads_env --env OMP_NUM_THREADS=160)

    if(LULL_SANITIZE)
        include(${CMAKE_CURRENT_LIST_DIR}/sanitized.cmake)
        return()
    endif()

    # A replay adds what a simulation adds, with the same words.
    add_test(NAME record.inject_replay
        COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/inject_replay.py
                $<TARGET_FILE:lull>)
    set_tests_properties(record.inject_replay PROPERTIES LABELS quick TIMEOUT 1800)

    # Which compiler has made a program matters where the compiler's runtime is recorded (OpenMP). Elsewhere the first
    # that is here stands for all in `make check`.
    if(LULL_C_COMPILERS)
        list(GET LULL_C_COMPILERS 0 LULL_FIRST_COMPILER)
        get_filename_component(LULL_FIRST_COMPILER ${LULL_FIRST_COMPILER} NAME_WE)
    endif()
    macro(label_of_compiler short)
        set(label quick)
        if(NOT ${short} STREQUAL LULL_FIRST_COMPILER)
            set(label all)
        endif()
    endmacro()

    # waits_test(name program arguments...): how threads wait for each other. Labelled as `label` says.
    set(label quick)
    function(waits_test name)
        add_test(NAME record.${name}
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/run.py
                    --lull $<TARGET_FILE:lull> --check $<TARGET_FILE:check_waits> -- ${ARGN})
        set_tests_properties(record.${name} PROPERTIES LABELS ${label} TIMEOUT 1800
                             SKIP_RETURN_CODE 77)
    endfunction()
    find_program(LULL_GXX NAMES g++ g++-12 g++-13 g++-14)
    if(LULL_GXX)
        set(output ${record_bin}/waits_cc)
        add_custom_command(OUTPUT ${output} DEPENDS ${PROJECT_SOURCE_DIR}/tests/record/waits_cc.cc
            COMMAND ${LULL_GXX} -std=c++17 -O1 -g -Wall -Wextra -I${PROJECT_SOURCE_DIR}/include -pthread
                    ${PROJECT_SOURCE_DIR}/tests/record/waits_cc.cc -o ${output} VERBATIM)
        add_custom_target(record.waits_cc ALL DEPENDS ${output})
        waits_test(waits.cc ${output})
        set(output ${record_bin}/locks_cc)
        add_custom_command(OUTPUT ${output} DEPENDS ${PROJECT_SOURCE_DIR}/tests/record/locks_cc.cc
            COMMAND ${LULL_GXX} -std=c++17 -O1 -g -Wall -Wextra -pthread
                    ${PROJECT_SOURCE_DIR}/tests/record/locks_cc.cc -o ${output} VERBATIM)
        add_custom_target(record.locks_cc ALL DEPENDS ${output})
        record_test(locks.cc quick -- ${output})
    endif()

    if(LULL_GCC)
        late_programs(${LULL_GCC})
        record_test(late quick -- ${record_bin}/late)
        foreach(form barrier lock busy threads)
            record_test(late_calls.${form} quick -- ${record_bin}/late_calls ${form})
            record_test(late_calls.profile.${form} quick --option=--profile -- ${record_bin}/late_calls ${form})
        endforeach()
    endif()

    foreach(compiler ${LULL_C_COMPILERS})
        get_filename_component(short ${compiler} NAME_WE)
        label_of_compiler(${short})
        record_program(waits ${compiler} -Wall -Wextra -Werror -pthread)
        foreach(form pthread c np paused barriers detached)
            waits_test(waits.${form}.${short} ${record_bin}/waits.${short} ${form})
        endforeach()
        record_program(locks ${compiler} -Wall -Wextra -Werror -pthread)
        foreach(form mutex condition semaphore readwrite c limits odd fork)
            record_test(locks.${form}.${short} ${label} -- ${record_bin}/locks.${short} ${form})
        endforeach()
        record_test(locks.short.${short} ${label} --option=--waits=1h -- ${record_bin}/locks.${short} none)
        record_test(locks.none.${short} ${label} --option=--waits=none -- ${record_bin}/locks.${short} none)
        record_program(files ${compiler} -Wall -Wextra -Werror -pthread)
        set(record_variant .fortified)
        record_program(files ${compiler} -O2 -D_FORTIFY_SOURCE=2 -Wall -Wextra -Werror -pthread)
        unset(record_variant)
        record_test(files.handlers.${short} ${label} --option=--files -- ${record_bin}/files.${short} /tmp handlers)
        foreach(variant "" .fortified)
            add_test(NAME record.files${variant}.${short}
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/files.py --lull $<TARGET_FILE:lull>
                        -- ${record_bin}/files${variant}.${short} descriptors streams others threads)
            set_tests_properties(record.files${variant}.${short} PROPERTIES LABELS ${label} TIMEOUT 1800)
        endforeach()
        record_program(marked ${compiler} -Wall -Wextra -Werror -pthread)
        record_test(marked.${short} ${label} -- ${record_bin}/marked.${short})
        record_program(window ${compiler} -Wall -Wextra -Werror)
        set(window ${record_bin}/window.${short})
        record_test(window.numbers.${short} ${label} --option=--iterations=3:5 -- ${window} numbers)
        record_test(window.visits.${short} ${label} --option=--iterations=a:solve:3:4 --
                    ${window} visits)
        record_test(window.ring.${short} ${label} --option=--iterations=3:5 --option=--keep=last:64KiB --
                    ${window} numbers)
        record_test(window.never.${short} ${label} --option=--start-after=1h -- ${window} none)
        record_test(window.late.${short} ${label} --option=--start-after=50ms --option=--sample=off -- ${window} late wait)
        record_test(window.early.${short} ${label} --option=--duration=50ms -- ${window} none wait)
        record_test(window.always.${short} ${label} --option=--duration=1h -- ${window} all)
        record_test(window.signals.${short} ${label} --option=--signals=on -- ${window} signals)
        record_test(window.signals.off.${short} ${label} --option=--signals=off --
                    ${window} signals off)
        record_program(pause_threads ${compiler} -Wall -Wextra -Werror -pthread)
        record_program(short_threads ${compiler} -Wall -Wextra -Werror -pthread)
        record_test(short_threads.${short} ${label} -- ${record_bin}/short_threads.${short})
        foreach(form long turns)
            record_test(pause_threads.${form}.${short} ${label} --
                        ${record_bin}/pause_threads.${short} ${form})
        endforeach()
        record_test(pause_threads.clock.${short} ${label} --clock -- ${record_bin}/pause_threads.${short} long)
        # Under the thread sanitizer, which exits with 66 when it blames the program for anything.
        # Clang's makes a thread of its own in the program, which is recorded, too.
        execute_process(COMMAND ${compiler} -fsanitize=thread -x c /dev/null -c -o ${record_bin}/probe.o
                        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(NOT failed AND short STREQUAL "gcc")
            set(record_variant .tsan)
            record_program(marked ${compiler} -pthread -fsanitize=thread)
            record_program(short_threads ${compiler} -pthread -fsanitize=thread)
            record_program(pause_threads ${compiler} -pthread -fsanitize=thread)
            unset(record_variant)
            record_test(marked.tsan.${short} ${label} -- ${record_bin}/marked.tsan.${short})
            record_test(short_threads.tsan.${short} ${label} --
                        ${record_bin}/short_threads.tsan.${short} few)
            record_test(pause_threads.tsan.${short} ${label} --
                        ${record_bin}/pause_threads.tsan.${short} turns)
        endif()
    endforeach()
    find_program(LULL_GFORTRAN NAMES gfortran gfortran-12)
    if(LULL_GFORTRAN)
        set(sources ${PROJECT_SOURCE_DIR}/include/lull/lull.f90
                    ${PROJECT_SOURCE_DIR}/tests/record/marked_fortran.f90)
        add_custom_command(OUTPUT ${record_bin}/marked_fortran DEPENDS ${sources}
            WORKING_DIRECTORY ${record_bin}
            COMMAND ${LULL_GFORTRAN} -Wall -Wextra ${sources} -o marked_fortran VERBATIM)
        add_custom_target(record.marked_fortran ALL DEPENDS ${record_bin}/marked_fortran)
        record_test(marked.fortran quick -- ${record_bin}/marked_fortran)
    endif()

    # Programs that are marked for other tools: without these tools, with libraries in their place,
    # and in a module that has one for itself.
    foreach(compiler ${LULL_C_COMPILERS})
        get_filename_component(short ${compiler} NAME_WE)
        label_of_compiler(${short})
        set(marks ${PROJECT_SOURCE_DIR}/tests/record/marks)
        set(bin ${record_bin}/marks.${short})
        file(MAKE_DIRECTORY ${bin})
        set(built)
        foreach(tool caliper dlb scorep)
            list(APPEND built COMMAND ${compiler} -O1 -g -fPIC -shared ${marks}/original.c -o ${bin}/lib${tool}.so)
            list(APPEND built COMMAND ${compiler} -O1 -g -DORIGINAL ${marks}/marks.c -o ${bin}/${tool}
                                      -L${bin} -Wl,--no-as-needed -l${tool} -Wl,-rpath,${bin})
            list(APPEND built COMMAND ${compiler} -O1 -g -fPIC -shared -DORIGINAL -DMODULE ${marks}/marks.c
                                      -o ${bin}/${tool}.module -L${bin} -Wl,--no-as-needed -l${tool}
                                      -Wl,-rpath,${bin})
        endforeach()
        add_custom_command(OUTPUT ${bin}/marks ${built}
            COMMAND ${compiler} -O1 -g ${marks}/plugin.c -o ${bin}/plugin
            COMMAND ${compiler} -O1 -g -Wall -Wextra -Werror ${marks}/marks.c -o ${bin}/marks
            COMMAND ${compiler} -O1 -g -Wall -Wextra -Werror -pthread ${marks}/forked.c -o ${bin}/forked
            DEPENDS ${marks}/marks.c ${marks}/forked.c ${marks}/original.c ${marks}/original.h ${marks}/plugin.c VERBATIM)
        add_custom_target(record.marks.${short} ALL DEPENDS ${bin}/marks)
        foreach(tool caliper dlb scorep)
            record_test(marks.${tool}.${short} ${label} -- ${bin}/marks ${tool})
            record_test(marks.${tool}.original.${short} ${label} -- ${bin}/${tool} ${tool})
            record_test(marks.${tool}.module.${short} ${label} -- ${bin}/plugin ${bin}/${tool}.module ${tool})
        endforeach()
        record_test(marks.forked.${short} ${label} -- ${bin}/forked)
        record_test(marks.nvtx.${short} ${label} -- ${bin}/marks nvtx)
        record_test(marks.nvtx.injected.${short} ${label}
                    --env NVTX_INJECTION64_PATH=$<TARGET_FILE:liblull-record> -- ${bin}/marks nvtx)
    endforeach()

    set(functions ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/functions.py
                  --lull $<TARGET_FILE:lull> --check $<TARGET_FILE:check_run> ${if_names_are_known})
    add_test(NAME record.functions COMMAND ${functions} --turns)
    add_test(NAME record.functions.whole COMMAND ${functions})
    set_tests_properties(record.functions record.functions.whole PROPERTIES LABELS quick TIMEOUT 1800
                         SKIP_RETURN_CODE 77)

    foreach(compiler ${LULL_C_COMPILERS})
        get_filename_component(short ${compiler} NAME_WE)
        execute_process(COMMAND ${compiler} -fopenmp -x c /dev/null -c -o ${record_bin}/probe.o
                        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(failed)
            continue()
        endif()
        record_program(omp_constructs ${compiler} -fopenmp)
        record_program(omp_barriers ${compiler} -fopenmp)
        record_program(omp_imbalance ${compiler} -fopenmp)
        record_program(omp_rest ${compiler} -fopenmp)
        record_program(many_tasks ${compiler} -fopenmp)
        record_program(pause_omp ${compiler} -fopenmp)
        record_program(omp_waits ${compiler} -fopenmp)
        record_program(late_omp ${compiler} -fopenmp)
        foreach(form barrier critical region)
            record_test(late_omp.${form}.${short} quick -- ${record_bin}/late_omp.${short} ${form})
        endforeach()
        record_program(nested_threads ${compiler} -fopenmp)
        record_test(nested_threads.${short} quick --bytes=13000 ${nested_threads_env} --
                    ${record_bin}/nested_threads.${short})
        record_test(omp_waits.${short} quick -- ${record_bin}/omp_waits.${short})
        record_test(many_tasks.${short} quick -- ${record_bin}/many_tasks.${short})
        record_test(omp_rest.${short} quick -- ${record_bin}/omp_rest.${short})
        record_test(pause_omp.${short} quick -- ${record_bin}/pause_omp.${short})
        record_test(pause_omp.counted.${short} quick --option=--counters=fake:a=1,fake:b=2 --
                    ${record_bin}/pause_omp.${short})
        record_test(omp_constructs.${short} quick -- ${record_bin}/omp_constructs.${short})
        foreach(clock "" clock.)
            set(words)
            if(clock)
                set(words --clock)
            endif()
            add_test(NAME record.counters.${clock}${short}
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/counters.py
                        --lull $<TARGET_FILE:lull> --check $<TARGET_FILE:check_run> ${words}
                        -- ${record_bin}/omp_constructs.${short})
            set_tests_properties(record.counters.${clock}${short} PROPERTIES LABELS quick TIMEOUT 1800)
        endforeach()
        record_test(omp_constructs.profile.${short} quick --option=--profile --
                    ${record_bin}/omp_constructs.${short})
        record_test(omp_barriers.ring.${short} quick --option=--keep=last:64KiB --
                    ${record_bin}/omp_barriers.${short})
        record_test(pause_omp.ring.${short} quick --option=--keep=last:64KiB --
                    ${record_bin}/pause_omp.${short})
        record_test(omp_imbalance.${short} quick --clock -- ${record_bin}/omp_imbalance.${short})
        add_test(NAME record.sites_omp.${short}
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/sites_omp.py
                    --lull $<TARGET_FILE:lull> --compiler ${compiler} ${if_names_are_known})
        set_tests_properties(record.sites_omp.${short} PROPERTIES LABELS quick TIMEOUT 1800
                             SKIP_RETURN_CODE 77)
        execute_process(COMMAND ${compiler} -fsanitize=address -x c /dev/null -c -o ${record_bin}/probe.o
                        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(NOT failed)
            set(record_variant .asan)
            record_program(omp_constructs ${compiler} -fopenmp -fsanitize=address)
            unset(record_variant)
            record_test(omp_constructs.asan.${short} quick --
                        ${record_bin}/omp_constructs.asan.${short})
            record_test(omp_constructs.asan.shell.${short} quick --
                        sh -c "'${record_bin}/omp_constructs.asan.${short}' || exit 1")
        endif()
        record_test(omp_constructs.basic.${short} quick --env OMP_CANCELLATION=true --
                    ${record_bin}/omp_constructs.${short} basic)
    endforeach()

    # A region goes on in a forked child with libgomp alone.
    if(LULL_CLANG)
        record_program(forks ${LULL_CLANG} -pthread)
        record_test(forks.clang quick -- ${record_bin}/forks.clang)
    endif()
    if(LULL_GCC AND TARGET record.omp_barriers.gcc)
        record_program(forks ${LULL_GCC} -fopenmp)
        record_test(forks.gcc quick -- ${record_bin}/forks.gcc)
        add_test(NAME record.private_gomp
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/private_gomp.py
                    --lull $<TARGET_FILE:lull> --check $<TARGET_FILE:check_run>
                    --constructs ${PROJECT_SOURCE_DIR}/tests/record/omp_constructs.c
                    --two ${PROJECT_SOURCE_DIR}/tests/record/private_gomps.c)
        set_tests_properties(record.private_gomp PROPERTIES LABELS quick TIMEOUT 1800
                             SKIP_RETURN_CODE 77)
        record_program(heap ${LULL_GCC} -fopenmp)
        set(record_variant .serial)
        record_program(heap ${LULL_GCC})
        unset(record_variant)
        add_test(NAME record.heap
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/heap.py
                    --lull $<TARGET_FILE:lull> ${record_bin}/heap.gcc ${record_bin}/heap.serial.gcc)
        set_tests_properties(record.heap PROPERTIES LABELS quick TIMEOUT 1800 SKIP_RETURN_CODE 77)
        record_program(live ${LULL_GCC})
        record_program(many_regions ${LULL_GCC})
        record_program(closing ${LULL_GCC})
        record_program(killed ${LULL_GCC} -pthread)
        record_program(samples ${LULL_GCC} -pthread)
        add_test(NAME record.samples
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/samples.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/samples.gcc)
        record_program(shares ${LULL_GCC} -pthread)
        add_test(NAME record.shares
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/shares.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/shares.gcc)
        set_tests_properties(record.shares PROPERTIES LABELS "all;clock" TIMEOUT 1800 RUN_SERIAL ON)
        if(LULL_HAVE_LIBDW)
            add_test(NAME record.code
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/code.py
                        --lull $<TARGET_FILE:lull> --program ${record_bin}/shares.gcc)
            set_tests_properties(record.code PROPERTIES LABELS quick TIMEOUT 1800 SKIP_RETURN_CODE 77)
            if(LULL_HAVE_LIBCLANG)
                add_test(NAME record.hot_loops
                    COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/hot_loops.py
                            --lull $<TARGET_FILE:lull> --source ${PROJECT_SOURCE_DIR}/tests/record/hot_loops.c
                            --machine ${PROJECT_SOURCE_DIR}/data/haswell-e5-2695v3-cod.json --cc ${LULL_GCC}
                            --cpp ${PROJECT_SOURCE_DIR}/tests/record/hot_loops.cpp --cxx "g++;clang++"
                            --faults ${PROJECT_SOURCE_DIR}/tests/record/hot_faults.c
                            --fortran ${PROJECT_SOURCE_DIR}/tests/record/hot_loops.f90 --fc "${LULL_GFORTRAN}")
                set_tests_properties(record.hot_loops PROPERTIES LABELS quick TIMEOUT 1800 SKIP_RETURN_CODE 77)
            endif()
            add_test(NAME record.shares_kinds
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/shares_kinds.py --lull $<TARGET_FILE:lull>)
            set_tests_properties(record.shares_kinds PROPERTIES LABELS "all;clock" TIMEOUT 1800 RUN_SERIAL ON)
        endif()
        record_program(unharmed ${LULL_GCC} -Wall -Wextra -Werror -pthread)
        add_test(NAME record.unharmed
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/unharmed.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/unharmed.gcc)
        set_tests_properties(record.samples record.unharmed PROPERTIES LABELS quick TIMEOUT 1800)
        if(LULL_HAVE_LIBDW)
            add_test(NAME record.agrees
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/agrees.py --lull $<TARGET_FILE:lull>)
            set_tests_properties(record.agrees PROPERTIES LABELS "all;clock" TIMEOUT 1800 RUN_SERIAL ON
                                 SKIP_RETURN_CODE 77)
            add_test(NAME record.stacks
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/stacks.py
                        --lull $<TARGET_FILE:lull> --cc ${LULL_GCC}
                        $<$<BOOL:${LULL_CLANG}>:--clang=${LULL_CLANG}> $<$<BOOL:${LULL_GXX}>:--cxx=${LULL_GXX}>
                        $<$<BOOL:${LULL_GFORTRAN}>:--fc=${LULL_GFORTRAN}>
                COMMAND_EXPAND_LISTS)
            add_test(NAME record.python_perf
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/python_perf.py
                        --lull $<TARGET_FILE:lull>)
            set_tests_properties(record.stacks record.python_perf PROPERTIES LABELS quick TIMEOUT 1800
                                 SKIP_RETURN_CODE 77)
        endif()
        add_test(NAME record.unharmed.large
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/unharmed.py --large
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/unharmed.gcc)
        set_tests_properties(record.unharmed.large PROPERTIES LABELS all TIMEOUT 1800)
        add_test(NAME record.killed
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/killed.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/killed.gcc)
        add_test(NAME record.killed.ring
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/killed.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/killed.gcc
                    --listing $<TARGET_FILE:listing> --keep 256)
        add_test(NAME record.stores
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/stores.py
                    --lull $<TARGET_FILE:lull>)
        set_tests_properties(record.stores PROPERTIES LABELS quick TIMEOUT 1800)
        # On two nodes, in either form of the files.
        foreach(store node process)
            add_test(NAME record.killed.${store}
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/killed_nodes.py
                        --lull $<TARGET_FILE:lull> --program ${record_bin}/killed.gcc
                        --listing $<TARGET_FILE:listing> --store ${store})
            set_tests_properties(record.killed.${store} PROPERTIES LABELS quick TIMEOUT 1800
                                 SKIP_RETURN_CODE 77)
        endforeach()
        set_tests_properties(record.killed record.killed.ring PROPERTIES LABELS quick TIMEOUT 1800)
        record_program(ring ${LULL_GCC} -Wall -Wextra -Werror -pthread)
        add_test(NAME record.ring
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/ring.py
                    --lull $<TARGET_FILE:lull> --listing $<TARGET_FILE:listing>
                    --program ${record_bin}/ring.gcc)
        add_test(NAME record.ring.pauses
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/ring.py
                    --lull $<TARGET_FILE:lull> --listing $<TARGET_FILE:listing>
                    --program ${record_bin}/ring.gcc --pauses)
        add_test(NAME record.ring.node
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/ring.py
                    --lull $<TARGET_FILE:lull> --listing $<TARGET_FILE:listing>
                    --program ${record_bin}/ring.gcc --store node)
        set_tests_properties(record.ring record.ring.pauses record.ring.node
                             PROPERTIES LABELS quick TIMEOUT 1800)
        opencl_tests(opencl ${LULL_GCC})
        nccl_tests(nccl ${LULL_GCC})
        add_test(NAME record.omp_target
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/omp_target.py
                    --lull $<TARGET_FILE:lull> --listing $<TARGET_FILE:listing>)
        set_tests_properties(record.omp_target PROPERTIES LABELS quick TIMEOUT 1800 SKIP_RETURN_CODE 77)
        cuda_tests(cuda ${LULL_GCC})
        cuda_toolkit_tests(${LULL_GCC})
        rocm_tests(rocm ${LULL_GCC})
        rocm_many_tests(${LULL_GCC})
        record_program(busy ${LULL_GCC} -pthread)
        add_test(NAME record.alone
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/alone.py
                    --lull $<TARGET_FILE:lull> --busy ${record_bin}/busy.gcc)
        set_tests_properties(record.alone PROPERTIES LABELS quick TIMEOUT 1800 SKIP_RETURN_CODE 77)
        record_program(sealed ${LULL_GCC} -fopenmp)
        add_test(NAME record.sealed
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/sealed.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/sealed.gcc)
        set_tests_properties(record.sealed PROPERTIES LABELS quick TIMEOUT 1800)
        record_program(page_faults ${LULL_GCC} -Wall -Wextra -Werror -pthread)
        add_test(NAME record.page_faults
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/page_faults.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/page_faults.gcc)
        set_tests_properties(record.page_faults PROPERTIES LABELS quick TIMEOUT 1800)
        record_program(resident ${LULL_GCC} -Wall -Wextra -Werror)
        add_test(NAME record.resident
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/resident.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/resident.gcc)
        set_tests_properties(record.resident PROPERTIES LABELS quick TIMEOUT 1800)
        record_program(fake_system ${LULL_GCC} -Wall -Wextra -Werror -rdynamic)
        add_test(NAME record.fake_system
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/fake_system.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/fake_system.gcc)
        set_tests_properties(record.fake_system PROPERTIES LABELS quick TIMEOUT 1800)
        record_program(region_memory ${LULL_GCC} -Wall -Wextra -Werror -pthread -rdynamic)
        add_test(NAME record.region_memory
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/region_memory.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/region_memory.gcc)
        set_tests_properties(record.region_memory PROPERTIES LABELS quick TIMEOUT 1800)
        record_program(leak ${LULL_GCC} -Wall -Wextra -Werror)
        add_test(NAME record.leak
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/leak.py --lull $<TARGET_FILE:lull>
                    --program ${record_bin}/leak.gcc --readings $<TARGET_FILE:readings_of>)
        set_tests_properties(record.leak PROPERTIES LABELS quick TIMEOUT 1800)
        add_test(NAME record.leak_rate
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/leak.py --lull $<TARGET_FILE:lull>
                    --program ${record_bin}/leak.gcc --readings $<TARGET_FILE:readings_of> --rate)
        set_tests_properties(record.leak_rate PROPERTIES LABELS "all;clock" TIMEOUT 1800 RUN_SERIAL ON)
        record_program(about ${LULL_GCC})
        add_test(NAME record.about
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/about.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/about.gcc)
        set_tests_properties(record.about PROPERTIES LABELS quick TIMEOUT 1800)
        record_program(unmoved ${LULL_GCC} -Wall -Wextra -Werror)
        add_test(NAME record.which_clock
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/which_clock.py
                    --lull $<TARGET_FILE:lull> --program ${record_bin}/unmoved.gcc)
        set_tests_properties(record.which_clock PROPERTIES LABELS quick TIMEOUT 1800 SKIP_RETURN_CODE 77)
        add_test(NAME record.follow
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/follow.py
                    --lull $<TARGET_FILE:lull> --busy ${record_bin}/busy.gcc)
        set_tests_properties(record.follow PROPERTIES LABELS quick TIMEOUT 1800)
        foreach(what full-disk budget live closed memory committed copy-on-write)
            add_test(NAME record.${what}
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/limits.py ${what}
                        --lull $<TARGET_FILE:lull> --check $<TARGET_FILE:check_run>
                        --bin ${record_bin})
            set_tests_properties(record.${what} PROPERTIES LABELS quick TIMEOUT 1800
                                 SKIP_RETURN_CODE 77)
        endforeach()
        # The same in the file of a node.
        foreach(what full-disk budget live closed copy-on-write)
            add_test(NAME record.${what}.node
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/limits.py ${what}
                        --lull $<TARGET_FILE:lull> --check $<TARGET_FILE:check_run>
                        --bin ${record_bin} --store node)
            set_tests_properties(record.${what}.node PROPERTIES LABELS quick TIMEOUT 1800
                                 SKIP_RETURN_CODE 77)
        endforeach()
        set_tests_properties(record.copy-on-write record.copy-on-write.node PROPERTIES LABELS slow)
    endif()
endif()

# A recorder finds nothing of lull in the program that it is loaded into: all it calls by our names
# is inside. What it calls of MPI it looks up, because the loader may want to bind all names at once.
if(LULL_TESTS AND CMAKE_NM)
    foreach(recorder liblull-record liblull-record-openmpi liblull-record-openmpi-shmem liblull-record-mpich)
        if(TARGET ${recorder})
            add_test(NAME record.complete.${recorder}
                COMMAND sh -c "! '${CMAKE_NM}' -u '$<TARGET_FILE:${recorder}>' | grep -E ' (lull_|rec_|P?MPI_|ompi_)'")
            set_tests_properties(record.complete.${recorder} PROPERTIES LABELS quick TIMEOUT 1800)
        endif()
    endforeach()
endif()

# The same under each MPI that is here.
function(record_mpi family)
    find_program(LULL_TEST_MPICC_${family} NAMES mpicc.${family})
    find_program(LULL_TEST_MPIRUN_${family} NAMES mpirun.${family})
    if(NOT LULL_TEST_MPICC_${family} OR NOT LULL_TEST_MPIRUN_${family} OR NOT Python3_FOUND)
        return()
    endif()
    set(bin ${CMAKE_CURRENT_BINARY_DIR}/record)
    if(LULL_GCC)
        cuda_mpi_test(${family})
    endif()
    foreach(name about ends hangs hybrid phases many_calls schedules)
        set(output ${bin}/${name}.${family})
        set(source ${PROJECT_SOURCE_DIR}/tests/record/${name}.c)
        add_custom_command(OUTPUT ${output} DEPENDS ${source} patient ${lull_patient}
            COMMAND ${LULL_TEST_MPICC_${family}} -std=gnu17 -O1 -g -fopenmp
                    -I${PROJECT_SOURCE_DIR}/include ${source} -o ${output} ${lull_patient_words} VERBATIM)
        add_custom_target(record.${name}.${family} ALL DEPENDS ${output})
    endforeach()
    set(ring ${PROJECT_SOURCE_DIR}/tests/record/ring.c)
    set(handles)
    if(family STREQUAL "mpich")
        set(handles --shared-handles)
    endif()
    add_custom_command(OUTPUT ${bin}/ring.${family} DEPENDS ${ring} patient ${lull_patient}
        COMMAND ${LULL_TEST_MPICC_${family}} -std=gnu17 -O1 -g -pthread -DRING_MPI
                -I${PROJECT_SOURCE_DIR}/include ${ring} -o ${bin}/ring.${family} ${lull_patient_words} VERBATIM)
    add_custom_target(record.ring.${family} ALL DEPENDS ${bin}/ring.${family})
    add_test(NAME record.ring.${family}
        COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/ring.py
                --lull $<TARGET_FILE:lull> --listing $<TARGET_FILE:listing>
                --program ${bin}/ring.${family} --mpirun ${LULL_TEST_MPIRUN_${family}}
                ${handles})
    set_tests_properties(record.ring.${family} PROPERTIES LABELS mpi TIMEOUT 1800)
    if(LULL_OPENCL_HEADERS AND OPENCL_FOUND)
        set(opencl ${PROJECT_SOURCE_DIR}/tests/record/opencl_mpi.c)
        add_custom_command(OUTPUT ${bin}/opencl_mpi.${family} DEPENDS ${opencl} patient ${lull_patient}
            COMMAND ${LULL_TEST_MPICC_${family}} -std=gnu17 -O1 -g -isystem ${LULL_OPENCL_HEADERS} ${opencl}
                    -o ${bin}/opencl_mpi.${family} ${OPENCL_LDFLAGS} ${lull_patient_words} VERBATIM)
        add_custom_target(record.opencl_mpi.${family} ALL DEPENDS ${bin}/opencl_mpi.${family})
        foreach(form plain fork killed)
            add_test(NAME record.opencl_mpi.${form}.${family}
                COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/opencl_mpi.py
                        --lull $<TARGET_FILE:lull> --listing $<TARGET_FILE:listing>
                        --program ${bin}/opencl_mpi.${family} --mpirun ${LULL_TEST_MPIRUN_${family}} ${form})
            set_tests_properties(record.opencl_mpi.${form}.${family}
                                 PROPERTIES LABELS mpi TIMEOUT 1800 SKIP_RETURN_CODE 77)
        endforeach()
    endif()
    # The same by another compiler, and by Fortran's bindings.
    set(ends ${PROJECT_SOURCE_DIR}/tests/record/ends.c)
    set(others)
    if(LULL_CLANG)
        add_custom_command(OUTPUT ${bin}/ends.clang.${family} DEPENDS ${ends} patient ${lull_patient}
            COMMAND ${CMAKE_COMMAND} -E env OMPI_CC=${LULL_CLANG} MPICH_CC=${LULL_CLANG}
                    ${LULL_TEST_MPICC_${family}} -O1 -g ${ends} -o ${bin}/ends.clang.${family} ${lull_patient_words} VERBATIM)
        list(APPEND others ${bin}/ends.clang.${family})
    endif()
    find_program(LULL_TEST_MPIF90_${family} NAMES mpif90.${family})
    if(LULL_TEST_MPIF90_${family} AND LULL_GFORTRAN)
        set(object ${bin}/ends.fortran.${family}.o)
        add_custom_command(OUTPUT ${bin}/ends.fortran.${family}
            DEPENDS ${ends} ${PROJECT_SOURCE_DIR}/tests/record/ends.f90 patient ${lull_patient}
            COMMAND ${LULL_TEST_MPICC_${family}} -O1 -g -DENDS_FORTRAN -c ${ends} -o ${object}
            COMMAND ${LULL_TEST_MPIF90_${family}} -O1 -g ${PROJECT_SOURCE_DIR}/tests/record/ends.f90
                    ${object} -o ${bin}/ends.fortran.${family} ${lull_patient_words} VERBATIM)
        list(APPEND others ${bin}/ends.fortran.${family})
    endif()
    add_custom_target(record.ends.others.${family} ALL DEPENDS ${others})
    set(ends_words ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/ends.py
                   --lull $<TARGET_FILE:lull> --check $<TARGET_FILE:check_run>
                   --digest $<TARGET_FILE:mpi_digest>
                   --program ${bin}/ends.${family} --barriers ${bin}/omp_barriers.gcc
                   --mpirun ${LULL_TEST_MPIRUN_${family}} --others ${others})
    set(turn_of_openmpi 0)
    set(turn_of_mpich 1)
    add_test(NAME record.ends.${family} COMMAND ${ends_words} --turn ${turn_of_${family}})
    add_test(NAME record.ends.whole.${family} COMMAND ${ends_words})
    set_tests_properties(record.ends.${family} record.ends.whole.${family}
                         PROPERTIES LABELS mpi TIMEOUT 1800 SKIP_RETURN_CODE 77 COST 20)
    add_test(NAME record.about.${family}
        COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/about.py
                --lull $<TARGET_FILE:lull> --program ${bin}/about.${family}
                --mpirun ${LULL_TEST_MPIRUN_${family}})
    set_tests_properties(record.about.${family} PROPERTIES LABELS mpi TIMEOUT 1800 SKIP_RETURN_CODE 77)
    add_test(NAME record.schedules.${family}
        COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/schedules.py
                --lull $<TARGET_FILE:lull> --check $<TARGET_FILE:check_run>
                --program ${bin}/schedules.${family} --mpirun ${LULL_TEST_MPIRUN_${family}})
    set_tests_properties(record.schedules.${family} PROPERTIES LABELS mpi TIMEOUT 1800)
    add_test(NAME record.top.${family}
        COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/top.py
                --lull $<TARGET_FILE:lull> --program ${bin}/hangs.${family}
                --mpirun ${LULL_TEST_MPIRUN_${family}})
    set_tests_properties(record.top.${family} PROPERTIES LABELS mpi TIMEOUT 1800)
    add_test(NAME record.sums.${family}
        COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/sums.py
                --lull $<TARGET_FILE:lull> --check $<TARGET_FILE:check_run>
                --program ${bin}/phases.${family} --mpirun ${LULL_TEST_MPIRUN_${family}})
    set_tests_properties(record.sums.${family} PROPERTIES LABELS mpi TIMEOUT 1800)
    set(sites ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/sites.py
              --lull $<TARGET_FILE:lull> --family ${family} ${if_names_are_known})
    add_test(NAME record.sites.${family} COMMAND ${sites} --turn ${turn_of_${family}})
    add_test(NAME record.sites.whole.${family} COMMAND ${sites})
    set_tests_properties(record.sites.${family} record.sites.whole.${family}
                         PROPERTIES LABELS mpi TIMEOUT 1800 SKIP_RETURN_CODE 77)
    if(family STREQUAL openmpi) # whose library mpi4py of Debian has
        add_test(NAME record.sites_python
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/sites_python.py
                    --lull $<TARGET_FILE:lull>)
        set_tests_properties(record.sites_python PROPERTIES LABELS mpi TIMEOUT 1800)
    endif()
    if(family STREQUAL mpich) # whose handles a mock has
        add_test(NAME record.million
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/million.py
                    --lull $<TARGET_FILE:lull> --recorder $<TARGET_FILE:liblull-record-mpich>)
        set_tests_properties(record.million PROPERTIES LABELS mpi TIMEOUT 1800 SKIP_RETURN_CODE 77)
    endif()
    # Who is in which communicator. Open MPI 4 hangs now and then where processes spawn others.
    foreach(form alone nodes spawn)
        add_test(NAME record.communicators.${form}.${family}
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/communicators.py
                    --lull $<TARGET_FILE:lull> --comms $<TARGET_FILE:comms_of> --family ${family}
                    --${form})
        set_tests_properties(record.communicators.${form}.${family}
                             PROPERTIES LABELS mpi TIMEOUT 1800 SKIP_RETURN_CODE 77)
    endforeach()
    foreach(clock "" clock.)
        set(words)
        set(iterations 2000)
        if(clock)
            set(words --clock)
            # So few that no buffer is written: counters rest while one is, and the made-up ones then also rest while
            # the thread has no core, which times do not.
            set(iterations 200)
        endif()
        set(clocks ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/clocks.py
                   --lull $<TARGET_FILE:lull> --family ${family} ${words})
        add_test(NAME record.clocks.${clock}${family} COMMAND ${clocks})
        add_test(NAME record.clocks.nodes.${clock}${family} COMMAND ${clocks} --nodes)
        add_test(NAME record.counters.${clock}${family}
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/counters.py
                    --lull $<TARGET_FILE:lull> --check $<TARGET_FILE:check_run> ${words}
                    --mpirun ${LULL_TEST_MPIRUN_${family}} -- ${bin}/phases.${family} ${iterations})
        set_tests_properties(record.clocks.${clock}${family} record.clocks.nodes.${clock}${family}
                             record.counters.${clock}${family}
                             PROPERTIES LABELS mpi TIMEOUT 1800 SKIP_RETURN_CODE 77)
    endforeach()
    foreach(ranks 1 24)
        record_test(many_calls.${ranks}.${family} slow -- ${LULL_TEST_MPIRUN_${family}} -n ${ranks}
                    ${bin}/many_calls.${family} 1000000)
    endforeach()
    add_custom_command(OUTPUT ${bin}/start.${family}
        DEPENDS ${PROJECT_SOURCE_DIR}/tests/record/start.c patient ${lull_patient}
        COMMAND ${LULL_TEST_MPICC_${family}} -O1 ${PROJECT_SOURCE_DIR}/tests/record/start.c -o ${bin}/start.${family}
                ${lull_patient_words} VERBATIM)
    add_custom_target(record.start.${family} ALL DEPENDS ${bin}/start.${family})
    foreach(what part limits end wrapped numactl time unknown local families python blank several
            full_disk)
        add_test(NAME record.start.${what}.${family}
            COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/start.py ${what}
                    --lull $<TARGET_FILE:lull> --family ${family} --program ${bin}/start.${family})
        set_tests_properties(record.start.${what}.${family} PROPERTIES LABELS mpi TIMEOUT 1800
                             SKIP_RETURN_CODE 77)
    endforeach()
    foreach(form master inside)
        record_test(hybrid.${form}.${family} mpi --
                    ${LULL_TEST_MPIRUN_${family}} -n 2 ${bin}/hybrid.${family} ${form})
    endforeach()
endfunction()
record_mpi(openmpi)
record_mpi(mpich)
