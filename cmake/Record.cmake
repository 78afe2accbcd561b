# What is loaded into the measured program: one shared object without MPI, and one per MPI family
# that has a compiler wrapper here. All from the same sources; libmpi is not linked: its functions
# are those that the program brings.
set(LULL_RECORD_FOLDER ${CMAKE_INSTALL_LIBDIR}/lull)

function(lull_recorder target)
    file(GLOB sources CONFIGURE_DEPENDS src/record/*.c src/record/omp/*.c src/tape/*.c)
    add_library(${target} MODULE ${sources} ${ARGN})
    target_include_directories(${target} PRIVATE src include)
    set_target_properties(${target} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden)
    # A sanitizer would have to be in the measured program too.
    if(LULL_SANITIZE)
        target_compile_options(${target} PRIVATE -fno-sanitize=all)
        target_link_options(${target} PRIVATE -fno-sanitize=all)
    endif()
    # Optimised always: the program pays. Names are bound when they are used first, because a
    # preloaded object comes also into programs without MPI.
    target_compile_options(${target} PRIVATE -O2)
    target_link_options(${target} PRIVATE -Wl,-z,lazy)
    target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    install(TARGETS ${target} LIBRARY DESTINATION ${LULL_RECORD_FOLDER})
endfunction()

lull_recorder(liblull-record)
