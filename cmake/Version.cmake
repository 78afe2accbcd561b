# SPDX-License-Identifier: BSD-3-Clause
# The version is that of the newest tag behind the sources, v1.2.3 or v1.2.3-rc1; where there is none, the one that
# CMakeLists.txt says. An archive of git has tag and commit in commit.txt; in a clone git knows them, and elsewhere they are
# not known.
#   LULL_VERSION          1.2.3-rc1
#   LULL_VERSION_NUMBER   1.2.3
# generated/lull_build.h says what was built; it is written anew when the commit changes. generated/version has the version,
# generated/date the time of the commit in seconds since 1970.
set(commit_script ${CMAKE_CURRENT_LIST_DIR}/Commit.cmake)
set(commit_header ${CMAKE_BINARY_DIR}/generated/lull_build.h)
include(${commit_script})
lull_find_commit(${PROJECT_SOURCE_DIR})
set(LULL_VERSION ${PROJECT_VERSION}${LULL_PRERELEASE})
if(commit_tag MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+(-[a-z0-9]+)?)$")
    set(LULL_VERSION ${CMAKE_MATCH_1})
endif()
string(REGEX MATCH "^[0-9.]+" LULL_VERSION_NUMBER ${LULL_VERSION})
file(WRITE ${CMAKE_BINARY_DIR}/generated/version "${LULL_VERSION}\n")
file(WRITE ${CMAKE_BINARY_DIR}/generated/date "${commit_time}\n")
add_custom_target(lull_commit
    COMMAND ${CMAKE_COMMAND} -DSOURCES=${PROJECT_SOURCE_DIR} -DHEADER=${commit_header} -DTYPE=${CMAKE_BUILD_TYPE}
            -P ${commit_script}
    BYPRODUCTS ${commit_header} VERBATIM)
