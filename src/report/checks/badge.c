/* A badge for the page of a project: what is checked on the left, how it ended on the right. */
#include "report/checks/checks.h"

#include <string.h>

static void write_badge(const struct lull_checks *checks, FILE *out)
{
    enum { BADGE_HEIGHT = 20, TITLE_WIDTH = 86, LETTER = 7, WORD_MARGIN = 12 };
    static const char *const colours[] = {"#2b7a3d", "#b3261e", "#6b6b6b"};
    const char *word = lull_check_word(checks->status);
    const int right = WORD_MARGIN + LETTER * (int)strlen(word), width = TITLE_WIDTH + right;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" role=\"img\" "
            "aria-label=\"performance: %s\">\n<title>performance: %s</title>\n",
            width, BADGE_HEIGHT, word, word);
    fprintf(out, "<rect width=\"%d\" height=\"%d\" rx=\"3\" fill=\"#444\"/>\n", width,
            BADGE_HEIGHT);
    fprintf(out, "<path d=\"M%d 0h%da3 3 0 0 1 3 3v%da3 3 0 0 1 -3 3h-%dz\" fill=\"%s\"/>\n",
            TITLE_WIDTH, right - 3, BADGE_HEIGHT - 6, right - 3, colours[checks->status]);
    fputs("<g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\" "
          "text-anchor=\"middle\">\n",
          out);
    fprintf(out, "<text x=\"%d\" y=\"14\" textLength=\"%d\">performance</text>\n", TITLE_WIDTH / 2,
            TITLE_WIDTH - WORD_MARGIN);
    fprintf(out, "<text x=\"%d\" y=\"14\" textLength=\"%d\">%s</text>\n</g>\n</svg>\n",
            TITLE_WIDTH + right / 2, right - WORD_MARGIN, word);
}

const struct lull_checks_form lull_checks_badge = {.name = "badge", .write = write_badge};
