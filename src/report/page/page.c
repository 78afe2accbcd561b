/* A document as one HTML page: what stands in it is read without script; the script adds the views
 * that are drawn, and makes tables sortable. Nothing is fetched: the policy in the head forbids it,
 * and names the one script and the styles by their digests. */
#include "report/asset.h"
#include "report/cell_text.h"
#include "report/chart.h"
#include "report/page/html.h"
#include "report/page/page_table.h"

#include <stdint.h>
#include <string.h>

struct page {
    const struct lull_document *document;
    const struct lull_render_options *options;
    FILE *out;
};

static void put_digest(FILE *out, const struct lull_asset *asset)
{
    uint8_t bytes[32];
    for (size_t i = 0; i < sizeof bytes; i++) {
        unsigned byte = 0;
        sscanf(asset->sha256 + 2 * i, "%2x", &byte);
        bytes[i] = (uint8_t)byte;
    }
    fputs("'sha256-", out);
    lull_html_base64(out, bytes, sizeof bytes);
    fputc('\'', out);
}

static void put_style(FILE *out, const struct lull_asset *asset)
{
    fputs("<style>", out);
    fwrite(asset->text, 1, asset->size, out);
    fputs("</style>\n", out);
}

static void put_head(const struct page *page)
{
    FILE *out = page->out;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ",
          out);
    put_digest(out, &lull_asset_page_script);
    fputs("; style-src ", out);
    put_digest(out, &lull_asset_chart_style);
    fputc(' ', out);
    put_digest(out, &lull_asset_page_style);
    fputs("; base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta name=\"generator\" content=\"lull " LULL_VERSION "\">\n<title>",
          out);
    lull_html_name(out, *page->document->title ? page->document->title : "lull report");
    fputs("</title>\n", out);
    put_style(out, &lull_asset_chart_style);
    put_style(out, &lull_asset_page_style);
    fputs("</head>\n<body>\n", out);
}
