#include "support/seed.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined __has_feature
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#elif defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#endif

static const uint64_t usual_seed = 1;

static uint64_t drawn_seed(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t number_of(const char *text)
{
    char *end;
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    errno = 0;
    uint64_t seed = strtoull(text, &end, hexadecimal ? 16 : 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno) {
        fprintf(stderr, "LULL_TEST_SEED is '%s'; expected a number or 'random'\n", text);
        exit(2);
    }
    return seed;
}

uint64_t lull_test_seed(void)
{
    static bool known;
    static uint64_t seed;
    if (known)
        return seed;
    const char *text = getenv("LULL_TEST_SEED");
    if (!text || !*text)
        seed = usual_seed;
    else
        seed = strcmp(text, "random") == 0 ? drawn_seed() : number_of(text);
    known = true;
    printf("LULL_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

bool lull_test_picks(size_t i, unsigned share)
{
#ifdef SANITIZED
    return i % share == 0;
#else
    (void)i, (void)share;
    return true;
#endif
}

unsigned lull_test_rounds(unsigned all)
{
#ifdef SANITIZED
    return (all + 15) / 16;
#else
    return all;
#endif
}
