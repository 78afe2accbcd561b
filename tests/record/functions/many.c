/* More functions than are told apart: what an instrumenting compiler would call is called by hand,
 * for addresses that lie in the program. */
enum { FUNCTIONS = 66000 };

void __cyg_profile_func_enter(void *function, void *caller) __attribute__((weak));
void __cyg_profile_func_exit(void *function, void *caller) __attribute__((weak));

static char code[FUNCTIONS] = {1};

int main(void)
{
    for (int i = 0; __cyg_profile_func_enter && i < FUNCTIONS; i++) {
        __cyg_profile_func_enter(&code[i], code);
        __cyg_profile_func_exit(&code[i], code);
    }
    return 0;
}
