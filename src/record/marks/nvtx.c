/* NVTX (NVIDIA): ranges that are pushed and popped on a thread, in any domain.
 *
 * Version 3 is a header, which loads the library that NVTX_INJECTION64_PATH names and gives it
 * tables of functions to fill: the recorder may be that library. Version 2 is a library of its own,
 * which does the same; where it is not there, its functions are found here. Layouts and numbers are
 * those of nvtxTypes.h and nvToolsExt.h, which have not changed since version 2. */
#include "record/marks/foreign.h"

#include <stdint.h>

#define NVTX_LIBRARY "libnvToolsExt"
enum { ERROR = -1, CALLBACKS = 1, CORE = 1, CORE2 = 5 };
/* Places in the tables. */
enum { RANGE_PUSH_EX = 8, RANGE_PUSH = 9, RANGE_POP = 11 };
enum { DOMAIN_RANGE_PUSH_EX = 4, DOMAIN_RANGE_POP = 5, DOMAIN_REGISTER = 10 };
/* Kinds of messages: a text, or one that was registered. */
enum { MESSAGE_TEXT = 1, MESSAGE_REGISTERED = 3 };

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

typedef void nvtx_function(void);
struct callbacks {
    size_t size;
    int (*table_of)(int module, nvtx_function ***ret_table, unsigned *ret_size);
};

REC_EXPORT int nvtxRangePushA(const char *message);
REC_EXPORT int nvtxRangePushEx(const struct attributes *attributes);
REC_EXPORT int nvtxRangePop(void);
REC_EXPORT int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

static __thread int depth;

/* Levels are counted from 0. */
static int push(const char *message)
{
    rec_mark_begin(message);
    return depth++;
}

static int pop(void)
{
    if (depth == 0)
        return ERROR;
    rec_mark_end();
    return --depth;
}

static int push_attributes(const struct attributes *attributes)
{
    const int32_t type = attributes ? attributes->message_type : 0;
    if (type == MESSAGE_REGISTERED)
        return push(rec_handle_name(attributes->message));
    return push(type == MESSAGE_TEXT ? attributes->message : NULL);
}

/* ---- version 2 --------------------------------------------------------------------------------
 *
 * The original calls what InitializeInjectionNvtx2 has put into its tables. */

int nvtxRangePushA(const char *message)
{
    __typeof__(&nvtxRangePushA) original = REC_ORIGINAL(NVTX_LIBRARY, nvtxRangePushA);
    return original ? original(message) : push(message);
}

int nvtxRangePushEx(const struct attributes *attributes)
{
    __typeof__(&nvtxRangePushEx) original = REC_ORIGINAL(NVTX_LIBRARY, nvtxRangePushEx);
    return original ? original(attributes) : push_attributes(attributes);
}

int nvtxRangePop(void)
{
    __typeof__(&nvtxRangePop) original = REC_ORIGINAL(NVTX_LIBRARY, nvtxRangePop);
    return original ? original() : pop();
}

/* ---- version 3 --------------------------------------------------------------------------------
 */

static int push_in_domain(const void *domain, const struct attributes *attributes)
{
    (void)domain;
    return push_attributes(attributes);
}

static int pop_in_domain(const void *domain)
{
    (void)domain;
    return pop();
}

static const void *register_text(const void *domain, const char *text)
{
    (void)domain;
    return text ? rec_handle_make(text, 0) : NULL;
}

static void fill_callback(const struct callbacks *callbacks, int module, unsigned place,
                          nvtx_function *with)
{
    nvtx_function **table;
    unsigned size;
    if (callbacks->table_of(module, &table, &size) && place < size)
        *(nvtx_function **)(void *)table[place] = with;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
    const struct callbacks *callbacks = export_table(CALLBACKS);
    if (!callbacks || callbacks->size < sizeof *callbacks || !rec_process.on)
        return 0;
    fill_callback(callbacks, CORE, RANGE_PUSH_EX, (nvtx_function *)push_attributes);
    fill_callback(callbacks, CORE, RANGE_PUSH, (nvtx_function *)push);
    fill_callback(callbacks, CORE, RANGE_POP, (nvtx_function *)pop);
    fill_callback(callbacks, CORE2, DOMAIN_RANGE_PUSH_EX, (nvtx_function *)push_in_domain);
    fill_callback(callbacks, CORE2, DOMAIN_RANGE_POP, (nvtx_function *)pop_in_domain);
    fill_callback(callbacks, CORE2, DOMAIN_REGISTER, (nvtx_function *)register_text);
    return 1;
}
