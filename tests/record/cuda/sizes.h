/* Bytes of records of the mock's libcupti, which are those of CUpti_ActivityKernel9 and 10, Memcpy5 and 6, MemcpyPtoP4,
 * Memset4, UnifiedMemoryCounter2 and 3, Overhead and Overhead3 in NVIDIA's headers. */
#ifndef SIZES_H
#define SIZES_H

enum {
    KERNEL_SIZE_12 = 208,
    KERNEL_SIZE_13 = 216,
    MEMCPY_SIZE_12 = 88,
    MEMCPY_SIZE_13 = 96,
    PEER_SIZE = 96,
    MEMSET_SIZE = 88,
    MIGRATION_SIZE_12 = 64,
    MIGRATION_SIZE_13 = 104,
    OVERHEAD_SIZE_12 = 40,
    OVERHEAD_SIZE_13 = 56
};
#if defined(MOCK_VERSION) && MOCK_VERSION == 12
enum {
    KERNEL_SIZE = KERNEL_SIZE_12,
    MEMCPY_SIZE = MEMCPY_SIZE_12,
    MIGRATION_SIZE = MIGRATION_SIZE_12,
    OVERHEAD_SIZE = OVERHEAD_SIZE_12
};
#else
enum {
    KERNEL_SIZE = KERNEL_SIZE_13,
    MEMCPY_SIZE = MEMCPY_SIZE_13,
    MIGRATION_SIZE = MIGRATION_SIZE_13,
    OVERHEAD_SIZE = OVERHEAD_SIZE_13
};
#endif

#endif
