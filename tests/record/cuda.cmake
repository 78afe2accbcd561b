# cuda_tests(prefix compiler flags...): tests/record/cuda.py with programs and a mock of CUDA made by that compiler.
set(cuda_folder ${PROJECT_SOURCE_DIR}/tests/record/cuda)
find_path(LULL_CUDA_TOOLKIT libcupti.so.13 HINTS ENV CUDA_HOME PATHS /usr/local/cuda
          PATH_SUFFIXES lib64 lib extras/CUPTI/lib64)
find_program(LULL_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)

function(cuda_mock folder compiler)
    set(flags -std=gnu17 -O1 -g -pthread -Wall -Wextra -Werror -fvisibility=hidden ${ARGN})
    set(shared -fPIC -shared -Wl,-Bsymbolic)
    foreach(part 14 13 12 old)
        file(MAKE_DIRECTORY ${folder}/${part})
    endforeach()
    file(GLOB sources CONFIGURE_DEPENDS ${cuda_folder}/*.c ${cuda_folder}/*.h)
    add_custom_command(OUTPUT ${folder}/libcuda.so.1 ${folder}/cuda ${folder}/driverless DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/tests/device/streams.cu
        COMMAND ${compiler} ${flags} ${shared} -Wl,-soname,libcuda.so.1 ${cuda_folder}/mock_cuda.c -o ${folder}/libcuda.so.1
        COMMAND ${compiler} ${flags} ${shared} -Wl,-soname,libcupti.so.13 -DMOCK_VERSION=13 ${cuda_folder}/mock_cupti.c
                -o ${folder}/13/libcupti.so.13
        COMMAND ${compiler} ${flags} ${shared} -Wl,-soname,libcupti.so.12 -DMOCK_VERSION=12 ${cuda_folder}/mock_cupti.c
                -o ${folder}/12/libcupti.so.12
        COMMAND ${compiler} ${flags} ${shared} -Wl,-soname,libcupti.so.13 -DMOCK_VERSION=13 -DMOCK_OLD
                ${cuda_folder}/mock_cupti.c -o ${folder}/old/libcupti.so.13
        COMMAND ${compiler} ${flags} ${shared} -Wl,-soname,libcupti.so.14 -DMOCK_VERSION=13 -DMOCK_OLD
                ${cuda_folder}/mock_cupti.c -o ${folder}/14/libcupti.so.14
        COMMAND ${compiler} ${flags} ${shared} ${cuda_folder}/next.c -o ${folder}/libnext.so
        COMMAND ${compiler} ${flags} ${shared} ${cuda_folder}/second.c ${cuda_folder}/runtime.c ${folder}/libcuda.so.1 -o ${folder}/libsecond.so
        COMMAND ${compiler} ${flags} -I${PROJECT_SOURCE_DIR}/include ${cuda_folder}/cuda.c ${cuda_folder}/runtime.c
                ${folder}/libcuda.so.1 -o ${folder}/cuda
        COMMAND ${compiler} ${flags} ${cuda_folder}/driverless.c -o ${folder}/driverless
        COMMAND ${compiler} ${flags} -DMOCK -I${cuda_folder} -x c ${PROJECT_SOURCE_DIR}/tests/device/streams.cu ${cuda_folder}/runtime.c
                -x none ${folder}/libcuda.so.1 -o ${folder}/streams
        VERBATIM)
    get_filename_component(name ${folder} NAME)
    add_custom_target(record.${name} ALL DEPENDS ${folder}/libcuda.so.1)
endfunction()

# cuda_test(name label forms...): with cuda_lull in the place of lull, where that is set
function(cuda_test name label)
    if(NOT cuda_lull)
        set(cuda_lull $<TARGET_FILE:lull>)
    endif()
    add_test(NAME record.${name}
        COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/cuda.py --lull ${cuda_lull}
                --listing $<TARGET_FILE:listing> ${cuda_words} ${ARGN})
    set_tests_properties(record.${name} PROPERTIES LABELS "${label}" TIMEOUT 1800 SKIP_RETURN_CODE 77)
endfunction()

function(cuda_tests prefix compiler)
    get_filename_component(short ${compiler} NAME_WE)
    set(folder ${record_bin}/cuda_mock${record_variant}.${short})
    cuda_mock(${folder} ${compiler} ${ARGN})
    set(cuda_words --mock ${folder} --program ${folder}/cuda)
    cuda_test(${prefix}.plain quick plain plain/inner-ids plain/wrap plain/v12,driver-12 plain/mig plain/swap plain/eager plain/eager,inner-ids plain/foreign plain/no-clock
              plain/managed plain/managed,v12,driver-12 plain/managed,no-managed plain/managed,old-managed
              plain/tsc plain/worker priorities priorities/eager,inner-ids priorities/no-priority)
    cuda_test(${prefix}.ends quick exit abort quick in-call exit-callback exit-submitting exit-submitting/small seccomp unfinished off signals)
    cuda_test(${prefix}.processes quick threads threads/small,shuffle fork fork-first spawn pause pause-long pause-long/managed
              reset reset/small,worker closing libraries ranges)
    cuda_test(${prefix}.random quick random-1-10/small random-2-10/small,shuffle random-3-10/small,worker
              random-4-10/small,shuffle,drops random-5-10/small,odd-times random-6-10/small,wrap,inner-ids
              random-7-10/small,v12,driver-12 random-8-10 random-9-10/eager
              random-10-10/small,managed,shuffle
              random-13-10/reuse random-14-10/small,reuse
              random-15-10/small,overhead
              random-11-10/small,starved random-12-10/small,starved,v12,driver-12)
    cuda_test(${prefix}.said quick said:taken said:taken-v1 said:refuses said:none said:old said:old-driver said:newer said:unknown said:no-device said:step said:late said:silent
              said:two said:next said:next-missing other-build not-beside)
    cuda_test(${prefix}.sums quick sums:many sums:plain/managed sums:random-3-15/small,shuffle sums:random-4-15/v12,driver-12,small,drops)
    cuda_test(${prefix}.killed quick killed-4)
endfunction()

# With the toolkit of NVIDIA, where it is.
function(cuda_toolkit_tests compiler)
    get_filename_component(short ${compiler} NAME_WE)
    set(folder ${record_bin}/cuda_mock.${short})
    set(cuda_words --mock ${folder} --program ${folder}/cuda)
    if(LULL_CUDA_TOOLKIT)
        list(APPEND cuda_words --toolkit ${LULL_CUDA_TOOLKIT})
    endif()
    if(LULL_NVCC)
        list(APPEND cuda_words --nvcc ${LULL_NVCC})
    endif()
    if(LULL_CUPTI_HEADERS AND LULL_CUDA_HEADERS)
        add_library(record.cuda_sizes OBJECT ${cuda_folder}/sizes.c)
        target_include_directories(record.cuda_sizes SYSTEM PRIVATE ${LULL_CUPTI_HEADERS} ${LULL_CUDA_HEADERS})
    endif()
    cuda_test(cuda.true quick true)
    add_test(NAME record.cuda.device_check
        COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/device/check.py --lull $<TARGET_FILE:lull> --mock ${folder})
    set_tests_properties(record.cuda.device_check PROPERTIES LABELS quick TIMEOUT 1800)
    cuda_test(cuda.nvcc quick nvcc)
    foreach(turn RANGE 1 10)
        math(EXPR kind "${turn} % 5")
        set(kinds small small,shuffle small,worker,inner-ids small,wrap,v12,driver-12 small,shuffle,odd-times,drops)
        list(GET kinds ${kind} words)
        cuda_test(cuda.random.many.${turn} all random-${turn}-1000/${words})
    endforeach()
    cuda_test(cuda.killed.many all killed-300)
    cuda_test(cuda.busy_end quick unfinished/busy-end)
endfunction()

# Ranks of a family of MPI, with the mock that the first of these functions has made.
function(cuda_mpi_test family)
    set(folder ${record_bin}/cuda_mock.gcc)
    set(program ${record_bin}/cuda.${family})
    add_custom_command(OUTPUT ${program} DEPENDS ${folder}/libcuda.so.1
        COMMAND ${LULL_TEST_MPICC_${family}} -std=gnu17 -O1 -g -DWITH_MPI -I${PROJECT_SOURCE_DIR}/include ${cuda_folder}/cuda.c
                ${cuda_folder}/runtime.c ${folder}/libcuda.so.1 -o ${program} VERBATIM)
    add_custom_target(record.cuda.${family} ALL DEPENDS ${program})
    set(cuda_words --mock ${folder} --program ${program} --mpirun ${LULL_TEST_MPIRUN_${family}})
    cuda_test(cuda.mpi.${family} mpi mpi)
endfunction()
