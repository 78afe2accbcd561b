# SPDX-License-Identifier: BSD-3-Clause
# The metadata of Arrow files: third_party/nanoarrow, other people's code. Its headers are those of a system, so that what lull
# warns of does not count there.
add_library(lull_nanoarrow STATIC third_party/nanoarrow/src/builder.c third_party/nanoarrow/src/emitter.c
            third_party/nanoarrow/src/refmap.c third_party/nanoarrow/src/verifier.c)
set_target_properties(lull_nanoarrow PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(lull_nanoarrow SYSTEM PUBLIC third_party/nanoarrow/include)
target_compile_options(lull_nanoarrow PRIVATE -w)
