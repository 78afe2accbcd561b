#include "bench/kernel.h"

extern const struct lull_bench_kernel lull_kernel_load, lull_kernel_store, lull_kernel_copy,
    lull_kernel_update, lull_kernel_daxpy, lull_kernel_triad, lull_kernel_ntstore, lull_kernel_dot,
    lull_kernel_peak_dp_fma, lull_kernel_peak_dp, lull_kernel_peak_sp_fma, lull_kernel_peak_sp,
    lull_kernel_divide_dp, lull_kernel_divide_sp, lull_kernel_chase, lull_kernel_clock;

const struct lull_bench_kernel *const lull_kernels[] = {&lull_kernel_load,
                                                        &lull_kernel_store,
                                                        &lull_kernel_copy,
                                                        &lull_kernel_update,
                                                        &lull_kernel_daxpy,
                                                        &lull_kernel_triad,
                                                        &lull_kernel_ntstore,
                                                        &lull_kernel_dot,
                                                        &lull_kernel_peak_dp_fma,
                                                        &lull_kernel_peak_dp,
                                                        &lull_kernel_peak_sp_fma,
                                                        &lull_kernel_peak_sp,
                                                        &lull_kernel_divide_dp,
                                                        &lull_kernel_divide_sp,
                                                        &lull_kernel_chase,
                                                        &lull_kernel_clock,
                                                        NULL};
