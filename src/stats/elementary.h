/* Logarithm and exponential that give the same bits on every machine.
 *
 * The C library's differ in the last bit between machines and versions, which is enough to send a
 * simulation elsewhere. These consist of IEEE additions, multiplications and divisions in a fixed
 * order (compiled without contraction to fused operations) and are within 1 unit of the last
 * place. */
#ifndef LULL_STATS_ELEMENTARY_H
#define LULL_STATS_ELEMENTARY_H

/* Natural logarithm of a finite, normal number above 0. */
double lull_log(double x);

/* e to the power of x; 0 below -700, infinite above 709. x is a number. */
double lull_exp(double x);

#endif
