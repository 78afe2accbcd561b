/* libotf2 reports every bad call on stderr unless a callback takes the messages. The first message
 * of a failure tells the cause, those after it are its consequences. */
#include "trace/format/otf2/otf2.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char first_message[256];

__attribute__((format(printf, 6, 0))) static OTF2_ErrorCode
take_message(void *context, const char *file, uint64_t line, const char *function,
             OTF2_ErrorCode code, const char *format, va_list arguments)
{
    (void)context;
    (void)file;
    (void)line;
    (void)function;
    if (first_message[0])
        return code;
    int used = snprintf(first_message, sizeof first_message, "%s", OTF2_Error_GetDescription(code));
    if (format && *format && used > 0 && (size_t)used + 2 < sizeof first_message) {
        used += snprintf(first_message + used, sizeof first_message - (size_t)used, ": ");
        vsnprintf(first_message + used, sizeof first_message - (size_t)used, format, arguments);
    }
    return code;
}

static void register_callback(void)
{
    OTF2_Error_RegisterCallback(take_message, NULL);
}

void lull_otf2_quiet(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_callback);
    first_message[0] = '\0';
}

lull_status lull_otf2_fail(struct lull_error *err, OTF2_ErrorCode code, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *cause = first_message[0] ? first_message : OTF2_Error_GetDescription(code);
    return lull_fail(err, LULL_ERR_FORMAT, "%s: %s (libotf2)", text, cause);
}
