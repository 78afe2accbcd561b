# rocm_tests(prefix compiler flags...): tests/record/rocm.py with a program and a mock of ROCm made by that compiler.
set(rocm_folder ${PROJECT_SOURCE_DIR}/tests/record/rocm)

function(rocm_mock folder compiler)
    set(flags -std=gnu17 -O1 -g -pthread -Wall -Wextra -Werror -fvisibility=hidden ${ARGN})
    set(shared -fPIC -shared -Wl,-Bsymbolic)
    foreach(part lacks none)
        file(MAKE_DIRECTORY ${folder}/${part})
    endforeach()
    file(GLOB sources CONFIGURE_DEPENDS ${rocm_folder}/*.c ${rocm_folder}/*.h)
    set(register ${folder}/librocprofiler-register.so.0)
    set(hip ${folder}/libamdhip64.so.7)
    set(sdk librocprofiler-sdk.so.1)
    add_custom_command(OUTPUT ${folder}/rocm DEPENDS ${sources}
        COMMAND ${compiler} ${flags} ${shared} -Wl,-soname,librocprofiler-register.so.0 ${rocm_folder}/mock_register.c -o ${register}
        COMMAND ${compiler} ${flags} ${shared} -Wl,-soname,libamdhip64.so.7 ${rocm_folder}/mock_hip.c ${register} -o ${hip}
        COMMAND ${compiler} ${flags} ${shared} -Wl,-soname,${sdk} ${rocm_folder}/mock_sdk.c -o ${folder}/${sdk}
        COMMAND ${compiler} ${flags} ${shared} -Wl,-soname,${sdk} -DMOCK_LACKS ${rocm_folder}/mock_sdk.c -o ${folder}/lacks/${sdk}
        COMMAND ${CMAKE_COMMAND} -E copy ${register} ${hip} ${folder}/none
        COMMAND ${compiler} ${flags} -I${PROJECT_SOURCE_DIR}/include ${rocm_folder}/rocm.c ${hip} ${register} -o ${folder}/rocm
        VERBATIM)
    get_filename_component(name ${folder} NAME)
    add_custom_target(record.${name} ALL DEPENDS ${folder}/rocm)
endfunction()

function(rocm_test name label)
    add_test(NAME record.${name}
        COMMAND ${Python3_EXECUTABLE} -BS ${PROJECT_SOURCE_DIR}/tests/record/rocm.py --lull $<TARGET_FILE:lull>
                --listing $<TARGET_FILE:listing> --mock ${rocm_mock_folder} --program ${rocm_mock_folder}/rocm ${ARGN})
    set_tests_properties(record.${name} PROPERTIES LABELS "${label}" TIMEOUT 1800)
endfunction()

function(rocm_tests prefix compiler)
    get_filename_component(short ${compiler} NAME_WE)
    set(rocm_mock_folder ${record_bin}/rocm_mock${record_variant}.${short})
    rocm_mock(${rocm_mock_folder} ${compiler} ${ARGN})
    rocm_test(${prefix}.plain quick plain plain/set-inside plain/other-ids plain/eager plain/worker plain/foreign devices
              devices/partition user hardware)
    rocm_test(${prefix}.ends quick exit abort quick in-call unfinished)
    rocm_test(${prefix}.processes quick threads threads/small,shuffle fork pause pause-long)
    rocm_test(${prefix}.random quick random-1-10/small random-2-10/small,shuffle random-3-10/small,worker
              random-4-10/small,shuffle,drops random-5-10/small,odd-times random-6-10/small,other-ids,set-inside random-7-10
              random-8-10/eager random-9-10/small,foreign)
    rocm_test(${prefix}.said quick said:version-0 said:version-2 said:conflict said:lacks said:none said:late)
    rocm_test(${prefix}.killed quick killed-4)
endfunction()

# More of the same, drawn otherwise.
function(rocm_many_tests compiler)
    get_filename_component(short ${compiler} NAME_WE)
    set(rocm_mock_folder ${record_bin}/rocm_mock.${short})
    set(kinds small small,shuffle small,worker,set-inside small,shuffle,odd-times,drops)
    foreach(turn RANGE 1 8)
        math(EXPR kind "${turn} % 4")
        list(GET kinds ${kind} words)
        rocm_test(rocm.random.many.${turn} all random-${turn}-1000/${words})
    endforeach()
    rocm_test(rocm.killed.many all killed-300)
endfunction()
