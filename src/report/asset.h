/* SPDX-License-Identifier: BSD-3-Clause */
/* Assets: files of the source tree whose text is part of the program (cmake/Assets.cmake). */
#ifndef LULL_REPORT_ASSET_H
#define LULL_REPORT_ASSET_H

#include <stddef.h>

struct lull_asset {
    const char *text; /* `size` bytes and a zero */
    size_t size;
    const char *sha256; /* of the text, 64 hexadecimal digits */
};

extern const struct lull_asset lull_asset_chart_style; /* of charts; every rule begins with
                                                          .lull-chart */
extern const struct lull_asset lull_asset_page_style, lull_asset_page_script;

#endif
