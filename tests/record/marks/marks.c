/* marks caliper|dlb|scorep|nvtx: a program that is marked for another tool, by its documented
 * functions. Prints what must be found; fails where the tool's own library has not heard of it. */
#include "original.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int run(const char *tool);

/* How often the tool's own library must have been called. */
static int heard(int calls)
{
    return FOUND(&original_calls) && original_calls != calls;
}

static int caliper(void)
{
    if (!FOUND(cali_begin_phase))
        return 0;
    for (int i = 0; i < 3; i++) {
        cali_begin_phase("all");
        CALI_MARK_BEGIN("step");
        CALI_MARK_BEGIN("inner");
        CALI_MARK_END("inner");
        CALI_MARK_END("step");
        cali_end_phase("all");
    }
    puts("expect 3 all\nexpect 3 step\nexpect 3 inner\nprocesses 1");
    return heard(18);
}

/* b goes on when a ends: it is a second region from there. */
static int dlb(void)
{
    if (!FOUND(DLB_MonitoringRegionRegister))
        return 0;
    dlb_monitor_t *a = DLB_MonitoringRegionRegister("a"), *b = DLB_MonitoringRegionRegister("b");
    dlb_monitor_t *none = DLB_MonitoringRegionRegister("none");
    int wrong = a == NULL || b == NULL || a == b || strcmp(a->name, "a") != 0;
    wrong |= DLB_MonitoringRegionRegister("a") != a; /* as often as a program likes */
    for (int i = 0; i < 5; i++) {
        wrong |= DLB_MonitoringRegionStart(a) | DLB_MonitoringRegionStart(b);
        wrong |= DLB_MonitoringRegionStop(a) | DLB_MonitoringRegionStop(b);
        wrong |= DLB_MonitoringRegionStop(b); /* it is not open */
    }
    wrong |= DLB_MonitoringRegionStart(none) | DLB_MonitoringRegionStop(none);
    puts("expect 5 a\nexpect 10 b\nexpect 1 none\nprocesses 1");
    return wrong || heard(4 + 5 * 5);
}

static int scorep(void)
{
    static const char *last_name;
    static uint32_t last_file;
    SCOREP_USER_REGION_DEFINE(a)
    SCOREP_USER_REGION_DEFINE(b)
    if (!FOUND(SCOREP_User_RegionBegin))
        return 0;
    SCOREP_USER_REGION_INIT(b, "b", 0)
    for (int i = 0; i < 4; i++) {
        SCOREP_USER_REGION_BEGIN(a, "a", 0)
        SCOREP_USER_REGION_ENTER(b)
        SCOREP_USER_REGION_BY_NAME_BEGIN("by name", 0)
        SCOREP_USER_REGION_BY_NAME_END("by name")
        SCOREP_USER_REGION_END(b)
        SCOREP_USER_REGION_END(a)
    }
    puts("expect 4 a\nexpect 4 b\nexpect 4 by name\nprocesses 1");
    return heard(1 + 4 * 6);
}

/* What the header of NVTX 3 does: it loads a library, which fills tables of functions. */
static int (*push_in_domain)(void *domain, const void *attributes);
static int (*pop_in_domain)(void *domain);
static void *(*register_text)(void *domain, const char *text);
static int (*push_text)(const char *text);
static int (*pop)(void);
typedef void function(void);
static function **core[] = {[9] = (function **)&push_text, [11] = (function **)&pop, [15] = NULL};
static function **core2[] = {[4] = (function **)&push_in_domain,
                             [5] = (function **)&pop_in_domain,
                             [10] = (function **)&register_text,
                             [15] = NULL};
static function *unused;

static int table_of(int module, function ****ret_table, unsigned *ret_size)
{
    function ***table = module == 1 ? core : module == 5 ? core2 : NULL;
    for (int i = 0; table && i < 16; i++)
        if (!table[i])
            table[i] = &unused;
    *ret_table = table;
    *ret_size = 16;
    return table != NULL;
}

static const void *export_table(uint32_t id)
{
    static const struct {
        size_t size;
        int (*table_of)(int, function ****, unsigned *);
    } callbacks = {sizeof callbacks, table_of};
    return id == 1 ? &callbacks : NULL;
}

static int injected(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*begin)(const void *(*)(uint32_t)) = NULL;
    void *symbol = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    memcpy(&begin, &symbol, sizeof begin);
    return begin && begin(export_table);
}

static int nvtx3(void)
{
    struct {
        uint16_t version, size;
        uint32_t category;
        int32_t color_type;
        uint32_t color;
        int32_t payload_type, reserved;
        uint64_t payload;
        int32_t message_type;
        const void *message;
    } attributes = {.version = 3, .size = 48, .message_type = 1, .message = "in domain"};
    int wrong = sizeof attributes != 48;
    for (int i = 0; i < 6; i++) {
        wrong |= push_text("pushed") != 0;
        wrong |= push_in_domain(NULL, &attributes) != 1;
        wrong |= pop_in_domain(NULL) != 1 || pop() != 0;
    }
    attributes.message_type = 3;
    attributes.message = register_text(NULL, "registered");
    wrong |= register_text(NULL, "registered") != attributes.message;
    wrong |= push_in_domain(NULL, &attributes) != 0 || pop_in_domain(NULL) != 0 || pop() >= 0;
    puts("expect 6 pushed\nexpect 6 in domain\nexpect 1 registered\nprocesses 1");
    return wrong;
}

static int nvtx(void)
{
    if (getenv("NVTX_INJECTION64_PATH"))
        return injected() ? nvtx3() : 0;
    if (!FOUND(nvtxRangePushA))
        return 0;
    int wrong = nvtxRangePushA("a") != 0 || nvtxRangePushA("b") != 1 || nvtxRangePop() != 1 ||
                nvtxRangePushA("b") != 1 || nvtxRangePop() != 1 || nvtxRangePop() != 0;
    puts("expect 1 a\nexpect 2 b\nprocesses 1");
    return wrong || nvtxRangePop() >= 0;
}

int run(const char *tool)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } tools[] = {{"caliper", caliper}, {"dlb", dlb}, {"scorep", scorep}, {"nvtx", nvtx}};
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(tool, tools[i].name) == 0)
            return tools[i].run();
    return 2;
}

#ifndef MODULE
int main(int argc, char **argv)
{
    return argc > 1 ? run(argv[1]) : 2;
}
#endif
