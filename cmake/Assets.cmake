# SPDX-License-Identifier: BSD-3-Clause
# lull_asset(ROOM NAME files...): the files, one behind the other, become a constant `lull_asset_NAME`
# (src/report/asset.h) of the room's library. Needs nothing but CMake.
function(lull_asset room name)
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/src/${room}/)
    set(output ${CMAKE_BINARY_DIR}/generated/asset_${name}.c)
    set(script ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DNAME=${name}" "-DFILES=${ARGN}" -P ${script}
        DEPENDS ${ARGN} ${script} VERBATIM)
    target_sources(lull_${room} PRIVATE ${output})
endfunction()
