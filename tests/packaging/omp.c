/* Ten parallel regions. */
#include <stdio.h>

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 10; i++)
#pragma omp parallel reduction(+ : sum)
        sum++;
    printf("%d\n", sum);
    return 0;
}
