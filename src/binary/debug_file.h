/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the debug information of a file is that is kept apart from it. */
#ifndef LULL_BINARY_DEBUG_FILE_H
#define LULL_BINARY_DEBUG_FILE_H

#include "lull_features.h"

#if LULL_HAVE_LIBDW

#include <elfutils/libdwfl.h>

/* As dwfl_standard_find_debuginfo (Dwfl_Callbacks), but for the network: looks below /usr/lib/debug/.build-id, and
 * beside the file, in .debug beside it and below /usr/lib/debug for the name that its .gnu_debuglink says, or its own
 * with ".debug" behind. What is found has the build id of the file or, where that has none, the checksum that
 * .gnu_debuglink says. The servers of DEBUGINFOD_URLS, which many systems set for their debuggers, are asked only
 * where LULL_DEBUGINFOD is 1: they send hundreds of MB, and their user may be a program that is being recorded. */
int lull_debug_file_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word checksum, char **ret_path);

#endif
#endif
