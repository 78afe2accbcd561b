/* Functions whose file is not that of the program. */
extern volatile long sum;

__attribute__((noinline)) static void help(void)
{
    sum++;
}

__attribute__((noinline)) static void helper(int n)
{
    for (int i = 0; i < n; i++)
        help();
}
