/* Writes a page for the tests in a browser. usage: make_page one|two|hostile|large OUT.html */
#include "support/page_case.h"

#include <stdlib.h>
#include <string.h>

static const struct page_run before = {"before", 2, 4, 2, 12, 3, 2000000, true, true, "sweep"};
static const struct page_run after = {"after", 2, 4, 2, 12, 99, 2000000, true, true, "sweep"};
static const struct page_run hostile = {
    "</script><img src=x onerror=alert(1)>", 1, 4, 1, 5, 2, 1000000, true, true,
    "<img src=x onerror=alert(2)>\xe2\x80\xae\xff&\"'"};
static const struct page_run large = {"large", 64, 16, 4, 200, 17, 2000000, false, false, "sweep"};

static struct lull_document *make(const char *kind, struct lull_arena *arena)
{
    const struct page_run two[] = {before, after};
    struct page_run *runs = lull_arena_alloc(arena, sizeof two); /* timelines borrow them */
    memcpy(runs, two, sizeof two);
    if (strcmp(kind, "hostile") == 0)
        runs[0] = hostile;
    if (strcmp(kind, "large") == 0)
        runs[0] = large;
    return page_case_document(arena, runs, strcmp(kind, "two") == 0 ? 2 : 1);
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    struct lull_arena *arena = lull_arena_create(NULL);
    FILE *out = fopen(arguments[2], "w");
    if (!out)
        return 1;
    lull_renderer_html.render(make(arguments[1], arena),
                              &(struct lull_render_options){.most_bytes = 16 << 20}, out);
    int status = ferror(out) || fclose(out) ? 1 : 0;
    lull_arena_destroy(arena);
    return status;
}
