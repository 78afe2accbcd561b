/* Prints what sources of Python define: a line "FILE\tNAME\tLINE" for each name, in the order of the first ones.
 *
 *     python_lines LATEST FILE...        (LATEST: ns since 1970 after which a source must not have changed) */
#include "binary/python_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        struct lull_hash names = {0};
        if (!lull_python_source_read(argv[i], strtoll(argv[1], NULL, 10), &names))
            return 1;
        for (size_t k = 0; k < names.count; k++) {
            const char *key = lull_hash_key(&names, k);
            printf("%s\t%s\t%llu\n", argv[i], key + strlen(argv[i]) + 1,
                   (unsigned long long)names.entries[k].value);
        }
        lull_hash_free(&names);
    }
    return 0;
}
