#include "report/checks/checks.h"

const char *lull_check_word(enum lull_check_status status)
{
    static const char *const words[] = {"passed", "failed", "unknown"};
    return words[status];
}
