/* Prints where the frame of code is, "ADDRESS stack BYTES" or "ADDRESS other", for addresses of a file, which are read from
 * stdin, hexadecimal, one a line:
 *
 *     unwind_rules FILE */
#include "binary/symbols.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct lull_symbols *symbols;
    char line[64];
    if (argc != 2 || lull_symbols_open(argv[1], NULL, &symbols) != LULL_SYMBOLS_FOUND)
        return 1;
    while (fgets(line, sizeof line, stdin)) {
        const unsigned long long address = strtoull(line, NULL, 16);
        const struct lull_unwind_rule rule = lull_symbols_unwind(symbols, address);
        if (rule.how == LULL_UNWIND_FROM_STACK && rule.saved_return == LULL_UNWIND_AT_ADDRESS)
            printf("%llx stack %lld\n", address, (long long)(rule.address + rule.return_at));
        else
            printf("%llx other\n", address);
    }
    lull_symbols_close(symbols);
    return 0;
}
