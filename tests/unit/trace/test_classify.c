/* What regions are, by their names. */
#include "support/test.h"
#include "trace/classify.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lull_region classify(const char *name, unsigned paradigm, unsigned role)
{
    struct lull_region region = {
        .name = name, .file = "", .paradigm = (uint8_t)paradigm, .role = (uint8_t)role};
    lull_classify_region(&region);
    return region;
}

static void check(const char *name, unsigned paradigm, unsigned role, unsigned activity,
                  unsigned collective)
{
    struct lull_region region = classify(name, LULL_PARADIGM_USER, LULL_ROLE_FUNCTION);
    fail_if(region.paradigm != paradigm || region.role != role || region.activity != activity ||
                region.collective != collective,
            "'%s' is %s, %s, %s, %s; expected %s, %s, %s, %s", name,
            lull_paradigm_name(region.paradigm), lull_role_name(region.role),
            lull_activity_id(region.activity), lull_collective_name(region.collective),
            lull_paradigm_name(paradigm), lull_role_name(role), lull_activity_id(activity),
            lull_collective_name(collective));
}

/* ---- MPI: the families of MPI 3.1 and 4.0 ---------------------------------------------------- */

#define NONE LULL_COLLECTIVE_UNKNOWN

static const struct family {
    unsigned role, activity, collective;
    const char *names; /* without MPI_, separated by blanks */
} families[] = {
    /* MPI 3.1 chapter 3, and 4.0: partitioned, Isendrecv */
    {LULL_ROLE_POINT2POINT, LULL_MPI_P2P, NONE,
     "Send Bsend Ssend Rsend Recv Isend Ibsend Issend Irsend Irecv Wait Waitany Waitall Waitsome "
     "Test Testany Testall Testsome Request_get_status Request_get_status_all "
     "Request_get_status_any Request_get_status_some Probe Iprobe Mprobe Improbe Mrecv Imrecv "
     "Send_init Bsend_init Ssend_init Rsend_init Recv_init Start Startall Sendrecv "
     "Sendrecv_replace Isendrecv Isendrecv_replace Psend_init Precv_init Pready Pready_range "
     "Pready_list Parrived"},
    /* chapter 5; blocking, non-blocking, and 4.0's persistent forms */
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_BARRIER,
     "Barrier Ibarrier Barrier_init"},
    {LULL_ROLE_COLL_ONE2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_BCAST, "Bcast Ibcast Bcast_init"},
    {LULL_ROLE_COLL_ALL2ONE, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_GATHER,
     "Gather Igather Gather_init"},
    {LULL_ROLE_COLL_ALL2ONE, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_GATHERV,
     "Gatherv Igatherv Gatherv_init"},
    {LULL_ROLE_COLL_ONE2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_SCATTER,
     "Scatter Iscatter Scatter_init"},
    {LULL_ROLE_COLL_ONE2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_SCATTERV,
     "Scatterv Iscatterv Scatterv_init"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_ALLGATHER,
     "Allgather Iallgather Allgather_init"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_ALLGATHERV,
     "Allgatherv Iallgatherv Allgatherv_init"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_ALLTOALL,
     "Alltoall Ialltoall Alltoall_init"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_ALLTOALLV,
     "Alltoallv Ialltoallv Alltoallv_init"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_ALLTOALLW,
     "Alltoallw Ialltoallw Alltoallw_init"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_ALLREDUCE,
     "Allreduce Iallreduce Allreduce_init"},
    {LULL_ROLE_COLL_ALL2ONE, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_REDUCE,
     "Reduce Ireduce Reduce_init"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_REDUCE_SCATTER,
     "Reduce_scatter Ireduce_scatter Reduce_scatter_init"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK,
     "Reduce_scatter_block Ireduce_scatter_block Reduce_scatter_block_init"},
    {LULL_ROLE_COLL_OTHER, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_SCAN, "Scan Iscan Scan_init"},
    {LULL_ROLE_COLL_OTHER, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_EXSCAN,
     "Exscan Iexscan Exscan_init"},
    {LULL_ROLE_COLL_OTHER, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_NEIGHBOUR,
     "Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv "
     "Neighbor_alltoallw Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall "
     "Ineighbor_alltoallv Ineighbor_alltoallw Neighbor_allgather_init Neighbor_alltoallw_init"},
    /* chapters 6, 7, 10 */
    {LULL_ROLE_COLL_OTHER, LULL_MPI_OTHER, LULL_COLLECTIVE_CREATE,
     "Comm_create Comm_create_group Comm_create_from_group Comm_dup Comm_dup_with_info Comm_idup "
     "Comm_idup_with_info Comm_split Comm_split_type Intercomm_create Intercomm_merge "
     "Intercomm_create_from_groups Cart_create Cart_sub Graph_create Dist_graph_create "
     "Dist_graph_create_adjacent Comm_spawn Comm_spawn_multiple Comm_accept Comm_connect "
     "Comm_join"},
    {LULL_ROLE_COLL_OTHER, LULL_MPI_OTHER, LULL_COLLECTIVE_FREE, "Comm_free Comm_disconnect"},
    /* chapter 11 */
    {LULL_ROLE_RMA, LULL_MPI_ONE_SIDED, NONE,
     "Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap Rput Rget Raccumulate "
     "Rget_accumulate Win_fence Win_start Win_complete Win_post Win_wait Win_test Win_lock "
     "Win_lock_all Win_unlock Win_unlock_all Win_flush Win_flush_all Win_flush_local "
     "Win_flush_local_all Win_sync Win_attach Win_detach Win_shared_query"},
    {LULL_ROLE_RMA, LULL_MPI_ONE_SIDED, LULL_COLLECTIVE_CREATE,
     "Win_create Win_create_dynamic Win_allocate Win_allocate_shared"},
    {LULL_ROLE_RMA, LULL_MPI_ONE_SIDED, LULL_COLLECTIVE_FREE, "Win_free"},
    /* chapter 13 */
    {LULL_ROLE_FILE_IO, LULL_MPI_IO, LULL_COLLECTIVE_CREATE, "File_open"},
    {LULL_ROLE_FILE_IO, LULL_MPI_IO, LULL_COLLECTIVE_FREE, "File_close"},
    {LULL_ROLE_FILE_IO, LULL_MPI_IO, NONE,
     "File_delete File_set_size File_preallocate File_get_size File_set_view File_get_view "
     "File_read_at File_read_at_all File_write_at File_write_at_all File_iread_at "
     "File_iread_at_all File_iwrite_at_all File_read File_read_all File_write File_write_all "
     "File_iread File_iwrite File_iread_all File_seek File_read_shared File_write_shared "
     "File_iread_shared File_read_ordered File_write_ordered File_seek_shared "
     "File_read_at_all_begin File_read_at_all_end File_write_all_begin File_write_ordered_end "
     "File_set_atomicity File_sync"},
    /* the rest */
    {LULL_ROLE_FUNCTION, LULL_MPI_OTHER, NONE,
     "Init Init_thread Finalize Initialized Finalized Is_thread_main Query_thread Abort "
     "Comm_rank Comm_size Comm_group Comm_compare Comm_test_inter Comm_remote_size "
     "Comm_set_name Comm_get_attr Group_incl Group_union Group_free Cart_coords Cart_rank "
     "Cart_shift Dims_create Graph_neighbors Topo_test Type_vector Type_commit Type_free "
     "Type_create_struct Pack Unpack Pack_size Op_create Op_free Reduce_local Request_free "
     "Cancel Test_cancelled Get_count Get_elements Buffer_attach Buffer_detach Grequest_start "
     "Status_set_elements Info_create Info_set Wtime Wtick Get_processor_name Get_version "
     "Error_string Errhandler_create Alloc_mem Free_mem Pcontrol Get_address T_init_thread "
     "T_pvar_read Open_port Close_port Publish_name Session_init Session_finalize"},
};

/* A name in the spellings that tracers write. */
static void check_spellings(const char *base, const struct family *family)
{
    static const char *const forms[] = {"MPI_%s",      "PMPI_%s",      "MPI_%s_c",  "mpi_%s_",
                                        "mpi_%s__",    "MPI_%s_",      "mpi_%s",    "pmpi_%s_",
                                        "mpi_%s_f08_", "mpi_%s_f08ts", "MPI_%s_f08"};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        char name[128] = "", *end = name;
        for (const char *c = forms[f]; *c; c++)
            if (*c == '%') {
                end += sprintf(end, "%s", base);
                c++;
            } else {
                *end++ = *c;
                *end = '\0';
            }
        check(name, LULL_PARADIGM_MPI, family->role, family->activity, family->collective);
        for (char *c = name; *c; c++) /* Fortran in capitals */
            if (*c >= 'a' && *c <= 'z')
                *c = (char)(*c - 'a' + 'A');
        if (!strstr(forms[f], "f08"))
            check(name, LULL_PARADIGM_MPI, family->role, family->activity, family->collective);
    }
}

static void test_families(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        char *names = strdup(families[f].names), *rest = names, *name;
        while ((name = strtok_r(rest, " ", &rest)))
            check_spellings(name, &families[f]);
        free(names);
    }
}

/* ---- OpenSHMEM 1.4 and 1.5 --------------------------------------------------------------------
 */

static const struct family shmem_families[] = {
    {LULL_ROLE_FUNCTION, LULL_MPI_OTHER, NONE, "init init_thread finalize global_exit"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_BARRIER,
     "barrier_all barrier sync sync_all team_sync"},
    {LULL_ROLE_COLL_ONE2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_BCAST,
     "broadcast32 broadcast64 int_broadcast broadcastmem"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_ALLGATHER,
     "fcollect32 fcollect64 int_fcollect fcollectmem"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_ALLGATHERV,
     "collect32 collect64 int_collect collectmem"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_ALLTOALL,
     "alltoall32 alltoalls64 uint64_alltoall alltoallmem"},
    {LULL_ROLE_COLL_ALL2ALL, LULL_MPI_COLLECTIVE, LULL_COLLECTIVE_ALLREDUCE,
     "int_sum_to_all complexd_prod_to_all short_and_to_all int_max_reduce"},
    {LULL_ROLE_RMA, LULL_MPI_ONE_SIDED, LULL_COLLECTIVE_CREATE,
     "malloc calloc align realloc ctx_create"},
    {LULL_ROLE_RMA, LULL_MPI_ONE_SIDED, LULL_COLLECTIVE_FREE, "free ctx_destroy"},
    {LULL_ROLE_RMA, LULL_MPI_ONE_SIDED, NONE,
     "int_put ctx_long_put put32 ctx_put128_nbi putmem putmem_nbi double_iput iput64 int8_p "
     "size_get get16 getmem_nbi ptrdiff_iget iget8 longdouble_g int_put_signal putmem_signal_nbi "
     "int_atomic_add long_atomic_fetch_inc uint64_atomic_fetch_xor float_atomic_swap "
     "int_atomic_compare_swap int_fadd int_finc int_cswap double_set long_fetch quiet ctx_quiet "
     "fence set_lock clear_lock test_lock int_wait_until long_wait int_test int_wait_until_all "
     "int_test_some_vector signal_wait_until"},
};

static void test_shmem(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof shmem_families / sizeof *shmem_families; f++) {
        const struct family *family = &shmem_families[f];
        char *names = strdup(family->names), *rest = names, *base;
        while ((base = strtok_r(rest, " ", &rest))) {
            char name[64];
            snprintf(name, sizeof name, "shmem_%s", base);
            const struct lull_region region =
                classify(name, LULL_PARADIGM_OTHER, LULL_ROLE_FUNCTION);
            fail_if(region.paradigm != LULL_PARADIGM_MPI || region.role != family->role ||
                        region.activity != family->activity ||
                        region.collective != family->collective,
                    "'%s' is %s, %s, %s", name, lull_role_name(region.role),
                    lull_activity_id(region.activity), lull_collective_name(region.collective));
        }
        free(names);
    }
    /* What a program calls so by itself. */
    check("shmem_put", LULL_PARADIGM_USER, LULL_ROLE_FUNCTION, LULL_USEFUL, NONE);
    assert_int_equal(classify("shmem_setup", LULL_PARADIGM_OTHER, LULL_ROLE_FUNCTION).paradigm,
                     LULL_PARADIGM_OTHER);
}

/* ---- MPI: every function of an mpi.h ----------------------------------------------------------
 */

/* By patterns, the first that fits decides; another description of the same standard. */
static const struct {
    const char *pattern;
    unsigned activity;
} rules[] = {
    {"^MPI_(T_|Type_|Group_|Info_|Op_|Session_)", LULL_MPI_OTHER},
    {"^MPI_File_", LULL_MPI_IO},
    {"^MPI_Win_", LULL_MPI_ONE_SIDED},
    {"^MPI_R?(Put|Get|Accumulate|Get_accumulate|put|get|accumulate|get_accumulate)$",
     LULL_MPI_ONE_SIDED},
    {"^MPI_(Fetch_and_op|Compare_and_swap)$", LULL_MPI_ONE_SIDED},
    {"^MPI_Reduce_local$", LULL_MPI_OTHER},
    {"^MPI_I?(N|n)eighbor_", LULL_MPI_COLLECTIVE},
    {"^MPI_(B|Ib)(arrier|cast)(_init)?$", LULL_MPI_COLLECTIVE},
    {"^MPI_I?(All|all|G|g|S|s|R|r|Ex|ex)(gather|ather|reduce|educe|toall|catter|can|scan)"
     "(_scatter|_scatter_block|v|w)?(_init)?$",
     LULL_MPI_COLLECTIVE},
    {"^MPI_[IM]?[bsrBSR]*(send|end|recv|ecv)(_init)?$", LULL_MPI_P2P},
    {"^MPI_I?sendrecv|^MPI_Sendrecv|^MPI_Imrecv$", LULL_MPI_P2P},
    {"^MPI_(Wait|Test)(all|any|some)?$", LULL_MPI_P2P},
    {"^MPI_I?m?(M?p|P)robe$", LULL_MPI_P2P},
    {"^MPI_(Start|Startall|Request_get_status(_all|_any|_some)?|P.*_init|Pready.*|Parrived)$",
     LULL_MPI_P2P},
    {".", LULL_MPI_OTHER},
};

static unsigned expected_activity(const char *name)
{
    for (size_t r = 0;; r++) {
        regex_t regex;
        assert_int_equal(regcomp(&regex, rules[r].pattern, REG_EXTENDED | REG_NOSUB), 0);
        bool fits = regexec(&regex, name, 0, NULL, 0) == 0;
        regfree(&regex);
        if (fits)
            return rules[r].activity;
    }
}

/* Names of functions declared in the header, once each. */
static void test_every_function_of_mpi_h(void **state)
{
    (void)state;
    static const char *const places[] = {"/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h",
                                         "/usr/lib/aarch64-linux-gnu/openmpi/include/mpi.h"};
    FILE *in = NULL;
    for (size_t p = 0; !in && p < sizeof places / sizeof *places; p++)
        in = fopen(places[p], "r");
    if (!in) {
        printf("skipped: no mpi.h of Open MPI was found\n");
        skip();
    }
    char line[4096];
    regex_t declaration;
    unsigned functions = 0;
    assert_int_equal(
        regcomp(&declaration, "^(OMPI|OPAL)_DECLSPEC.*[ *](MPI_[A-Za-z0-9_]+)\\(", REG_EXTENDED),
        0);
    while (fgets(line, sizeof line, in)) {
        regmatch_t parts[3];
        if (regexec(&declaration, line, 3, parts, 0) != 0)
            continue;
        line[parts[2].rm_eo] = '\0';
        const char *name = line + parts[2].rm_so;
        struct lull_region region = classify(name, LULL_PARADIGM_USER, LULL_ROLE_FUNCTION);
        fail_if(region.paradigm != LULL_PARADIGM_MPI || region.activity != expected_activity(name),
                "%s is %s, expected %s", name, lull_activity_id(region.activity),
                lull_activity_id(expected_activity(name)));
        assert_false(region.user);
        functions++;
    }
    regfree(&declaration);
    fclose(in);
    assert_true(functions > 300);
}

/* ---- other names ----------------------------------------------------------------------------- */

static void test_openmp(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned role, activity;
    } cases[] = {
        {"!$omp parallel @heat.c:10", LULL_ROLE_PARALLEL, LULL_USEFUL},
        {"OpenMP parallel region", LULL_ROLE_PARALLEL, LULL_USEFUL},
        {"!$omp for @heat.c:12", LULL_ROLE_LOOP, LULL_USEFUL},
        {"!$omp do @heat.f90:12", LULL_ROLE_LOOP, LULL_USEFUL},
        {"!$OMP DO", LULL_ROLE_LOOP, LULL_USEFUL},
        {"!$omp sections @a.c:1", LULL_ROLE_SECTIONS, LULL_USEFUL},
        {"!$omp section @a.c:1", LULL_ROLE_SECTION, LULL_USEFUL},
        {"!$omp workshare @a.f:1", LULL_ROLE_WORKSHARE, LULL_USEFUL},
        {"!$omp single @a.c:1", LULL_ROLE_SINGLE, LULL_USEFUL},
        {"!$omp single sblock @a.c:1", LULL_ROLE_SINGLE_BODY, LULL_USEFUL},
        {"!$omp master @a.c:1", LULL_ROLE_MASTER, LULL_USEFUL},
        {"!$omp masked @a.c:1", LULL_ROLE_MASTER, LULL_USEFUL},
        {"!$omp critical @a.c:1", LULL_ROLE_CRITICAL, LULL_OMP_LOCK},
        {"!$omp critical sblock @a.c:1", LULL_ROLE_CRITICAL_BODY, LULL_USEFUL},
        {"!$omp atomic @a.c:1", LULL_ROLE_ATOMIC, LULL_OMP_LOCK},
        {"!$omp ordered @a.c:1", LULL_ROLE_ORDERED, LULL_OMP_LOCK},
        {"!$omp ordered sblock @a.c:1", LULL_ROLE_ORDERED_BODY, LULL_USEFUL},
        {"!$omp barrier @a.c:1", LULL_ROLE_BARRIER, LULL_OMP_SYNC},
        {"OpenMP barrier", LULL_ROLE_BARRIER, LULL_OMP_SYNC},
        {"!$omp implicit barrier @a.c:1", LULL_ROLE_IMPLICIT_BARRIER, LULL_OMP_SYNC},
        {"!$omp flush @a.c:1", LULL_ROLE_FLUSH, LULL_OMP_SCHEDULE},
        {"!$omp create task @a.c:1", LULL_ROLE_TASK_CREATE, LULL_OMP_SCHEDULE},
        {"OpenMP task create", LULL_ROLE_TASK_CREATE, LULL_OMP_SCHEDULE},
        {"!$omp task @a.c:1", LULL_ROLE_TASK, LULL_USEFUL},
        {"!$omp taskwait @a.c:1", LULL_ROLE_TASK_WAIT, LULL_OMP_SYNC},
        {"OpenMP taskgroup", LULL_ROLE_TASK_WAIT, LULL_OMP_SYNC},
        {"OpenMP set lock", LULL_ROLE_LOCK, LULL_OMP_LOCK},
        {"OpenMP test nest lock", LULL_ROLE_LOCK, LULL_OMP_LOCK},
        {"OpenMP something new", LULL_ROLE_FUNCTION, LULL_USEFUL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check(cases[i].name, LULL_PARADIGM_OPENMP, cases[i].role, cases[i].activity, NONE);
        struct lull_region region =
            classify(cases[i].name, LULL_PARADIGM_OPENMP, LULL_ROLE_FUNCTION);
        assert_int_equal(region.role, cases[i].role);
        assert_int_equal(region.parallel, cases[i].role == LULL_ROLE_PARALLEL);
        assert_false(region.user);
    }
}

static void test_openmp_functions(void **state)
{
    (void)state;
    struct lull_region lock = classify("omp_set_lock", LULL_PARADIGM_OPENMP, LULL_ROLE_FUNCTION);
    assert_int_equal(lock.role, LULL_ROLE_LOCK);
    assert_int_equal(lock.activity, LULL_OMP_LOCK);
    lock = classify("omp_set_lock", LULL_PARADIGM_USER, LULL_ROLE_FUNCTION);
    assert_int_equal(lock.paradigm, LULL_PARADIGM_USER);
    assert_true(lock.user);
}

static void test_pthreads(void **state)
{
    (void)state;
    check("pthread_create", LULL_PARADIGM_PTHREAD, LULL_ROLE_THREAD_CREATE, LULL_OMP_SCHEDULE,
          NONE);
    check("pthread_join", LULL_PARADIGM_PTHREAD, LULL_ROLE_THREAD_WAIT, LULL_OMP_SYNC, NONE);
    check("pthread_mutex_lock", LULL_PARADIGM_PTHREAD, LULL_ROLE_LOCK, LULL_OMP_LOCK, NONE);
    check("pthread_spin_lock", LULL_PARADIGM_PTHREAD, LULL_ROLE_LOCK, LULL_OMP_LOCK, NONE);
    check("pthread_rwlock_wrlock", LULL_PARADIGM_PTHREAD, LULL_ROLE_LOCK, LULL_OMP_LOCK, NONE);
    check("pthread_cond_wait", LULL_PARADIGM_PTHREAD, LULL_ROLE_BARRIER, LULL_OMP_SYNC, NONE);
    check("pthread_barrier_wait", LULL_PARADIGM_PTHREAD, LULL_ROLE_BARRIER, LULL_OMP_SYNC, NONE);
    check("pthread_self", LULL_PARADIGM_PTHREAD, LULL_ROLE_FUNCTION, LULL_USEFUL, NONE);
}

static void test_user_code(void **state)
{
    (void)state;
    static const char *const names[] = {"main",      "",     "MPI",           "mpi",   "xMPI_Send",
                                        "OpenMPfoo", "send", "compute_mpi_x", "flush", "pthreads"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check(names[i], LULL_PARADIGM_USER, LULL_ROLE_FUNCTION, LULL_USEFUL, NONE);
        assert_true(classify(names[i], LULL_PARADIGM_USER, LULL_ROLE_FUNCTION).user);
        assert_true(classify(names[i], LULL_PARADIGM_COMPILER, LULL_ROLE_FUNCTION).user);
    }
}

/* A tracer that says what it found is believed. */
static void test_paradigm_of_the_tracer(void **state)
{
    (void)state;
    struct lull_region region = classify("mpi_setup", LULL_PARADIGM_COMPILER, LULL_ROLE_FUNCTION);
    assert_int_equal(region.paradigm, LULL_PARADIGM_COMPILER);
    assert_int_equal(region.activity, LULL_USEFUL);
    assert_true(region.user);
    region = classify("read", LULL_PARADIGM_IO, LULL_ROLE_FILE_IO);
    assert_int_equal(region.activity, LULL_IO);
    region = classify("cudaLaunchKernel", LULL_PARADIGM_DEVICE, LULL_ROLE_FUNCTION);
    assert_int_equal(region.activity, LULL_DEVICE);
    region = classify("fwrite", LULL_PARADIGM_USER, LULL_ROLE_FILE_IO);
    assert_int_equal(region.activity, LULL_IO);
}

/* The tracer's role refines; without one of its own the name gives it. */
static void test_role_of_the_tracer(void **state)
{
    (void)state;
    struct lull_region region = classify("MPI_Barrier", LULL_PARADIGM_MPI, LULL_ROLE_BARRIER);
    assert_int_equal(region.role, LULL_ROLE_BARRIER);
    assert_int_equal(region.activity, LULL_MPI_COLLECTIVE);
    assert_int_equal(region.collective, LULL_COLLECTIVE_BARRIER);
    region = classify("MPI_Scan", LULL_PARADIGM_MPI, LULL_ROLE_COLL_OTHER);
    assert_int_equal(region.activity, LULL_MPI_COLLECTIVE);
    region = classify("MPI_Comm_dup", LULL_PARADIGM_MPI, LULL_ROLE_COLL_OTHER);
    assert_int_equal(region.activity, LULL_MPI_OTHER);
    region = classify("MPI_Send", LULL_PARADIGM_MPI, LULL_ROLE_WRAPPER);
    assert_int_equal(region.role, LULL_ROLE_POINT2POINT);
    region = classify("vendor extension", LULL_PARADIGM_MPI, LULL_ROLE_RMA);
    assert_int_equal(region.activity, LULL_MPI_ONE_SIDED);
    region = classify("!$omp parallel @x", LULL_PARADIGM_OPENMP, LULL_ROLE_BARRIER);
    assert_int_equal(region.role, LULL_ROLE_BARRIER);
    assert_false(region.parallel);
    struct lull_region marked = {.name = "my phase", .file = "", .parallel = true};
    lull_classify_region(&marked);
    assert_true(marked.parallel);
}

static void test_tracer_regions(void **state)
{
    (void)state;
    struct lull_region region =
        classify("TRACE BUFFER FLUSH", LULL_PARADIGM_MEASUREMENT, LULL_ROLE_ARTIFICIAL);
    assert_int_equal(region.activity, LULL_FLUSH);
    region = classify("something", LULL_PARADIGM_MEASUREMENT, LULL_ROLE_ARTIFICIAL);
    assert_int_equal(region.activity, LULL_OTHER);
    region = classify("EZTrace Finalize", LULL_PARADIGM_USER, LULL_ROLE_FUNCTION);
    assert_int_equal(region.paradigm, LULL_PARADIGM_MEASUREMENT);
    assert_int_equal(region.activity, LULL_OTHER);
}

/* Classifying twice changes nothing: a trace that lull wrote is read again. */
static void test_twice(void **state)
{
    (void)state;
    static const char *const names[] = {"MPI_Bcast", "!$omp for",        "pthread_join",
                                        "main",      "EZTrace Finalize", "MPI_Win_create"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct lull_region once = classify(names[i], LULL_PARADIGM_USER, LULL_ROLE_FUNCTION);
        struct lull_region twice = once;
        lull_classify_region(&twice);
        assert_memory_equal(&once, &twice, sizeof once);
    }
}

/* Names may have any length. */
static void test_long_names(void **state)
{
    (void)state;
    char name[5000] = "MPI_";
    memset(name + 4, 'x', sizeof name - 5);
    name[sizeof name - 1] = '\0';
    check(name, LULL_PARADIGM_MPI, LULL_ROLE_FUNCTION, LULL_MPI_OTHER, NONE);
}

static void test_counters(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned role;
    } cases[] = {
        {"PAPI_TOT_INS", LULL_COUNTER_INSTRUCTIONS},
        {"PAPI_TOT_INS [Instr completed]", LULL_COUNTER_INSTRUCTIONS},
        {"PAPI_TOT_CYC", LULL_COUNTER_CYCLES},
        {"PAPI_TOT_CYC [Total cycles]", LULL_COUNTER_CYCLES},
        {"instructions", LULL_COUNTER_INSTRUCTIONS},
        {"cpu-cycles", LULL_COUNTER_CYCLES},
        {"processor-time", LULL_COUNTER_PROCESSOR_TIME},
        {"PAPI_REF_CYC", LULL_COUNTER_OTHER},
        {"PAPI_TOT_INSX", LULL_COUNTER_OTHER},
        {"PAPI_L1_DCM", LULL_COUNTER_OTHER},
        {"", LULL_COUNTER_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(lull_classify_counter(cases[i].name), cases[i].role);
}

/* A launch on the host is a kernel on a stream. */
static void test_host_and_device(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint8_t paradigm, role;
        uint8_t on_host, on_stream;
    } rows[] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", LULL_PARADIGM_DEVICE, LULL_ROLE_KERNEL,
         LULL_DEVICE, LULL_DEVICE},
        {"_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
         LULL_PARADIGM_DEVICE, LULL_ROLE_KERNEL, LULL_DEVICE, LULL_DEVICE},
        {"_Z4ncclv", LULL_PARADIGM_DEVICE, LULL_ROLE_KERNEL, LULL_DEVICE, LULL_DEVICE},
        {"_Z7my_ncclv", LULL_PARADIGM_DEVICE, LULL_ROLE_KERNEL, LULL_DEVICE, LULL_USEFUL},
        {"axpy", LULL_PARADIGM_DEVICE, LULL_ROLE_KERNEL, LULL_DEVICE, LULL_USEFUL},
        {"axpy", LULL_PARADIGM_USER, LULL_ROLE_KERNEL, LULL_ACTIVITIES, LULL_USEFUL},
        {"cudaLaunchKernel", LULL_PARADIGM_DEVICE, LULL_ROLE_FUNCTION, LULL_DEVICE, LULL_USEFUL},
        {"cudaMemcpy", LULL_PARADIGM_DEVICE, LULL_ROLE_DATA_TRANSFER, LULL_DEVICE, LULL_DEVICE},
        {"copy", LULL_PARADIGM_OTHER, LULL_ROLE_DATA_TRANSFER, LULL_ACTIVITIES, LULL_DEVICE},
        {"wait", LULL_PARADIGM_DEVICE, LULL_ROLE_BARRIER, LULL_DEVICE, LULL_DEVICE},
        {"solve", LULL_PARADIGM_USER, LULL_ROLE_FUNCTION, LULL_ACTIVITIES, LULL_ACTIVITIES},
        {"MPI_Recv", LULL_PARADIGM_MPI, LULL_ROLE_FUNCTION, LULL_MPI_P2P, LULL_MPI_P2P},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lull_region region = {
            .name = rows[i].name, .file = "", .paradigm = rows[i].paradigm, .role = rows[i].role};
        lull_classify_region(&region);
        assert_int_equal(lull_activity_on(&region, LULL_LOCATION_THREAD), rows[i].on_host);
        assert_int_equal(lull_activity_on(&region, LULL_LOCATION_DEVICE), rows[i].on_stream);
    }
}

static void test_default_streams(void **state)
{
    (void)state;
    static const struct {
        const char *runtime, *number;
        bool is;
    } cases[] = {{"CUDA", "7", true},   {"CUDA", "7 on GPU", true}, {"CUDA", "7 (2)", true},
                 {"CUDA", "70", false}, {"CUDA", "17", false},      {"CUDA", "0", false},
                 {"CUDA", "", false},   {"ROCm", "0", true},        {"ROCm", "0 on GPU", true},
                 {"ROCm", "7", false},  {"HIP", "0", false},        {"OpenCL", "7", false},
                 {"", "7", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(lull_is_default_stream(cases[i].runtime, cases[i].number), cases[i].is);
}

static void test_ranks_of_communicators(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t ranks;
    } cases[] = {{"communicator 1f2e3d of 8 ranks", 8},
                 {"communicator 0 of 12345 ranks", 12345},
                 {"communicator 1f2e3d", 0},
                 {"communicator 1 of 0 ranks", 0},
                 {"communicator 1 of -1 ranks", 0},
                 {"communicator 1 of 99999999999999999999 ranks", 0},
                 {"communicator 1 of 2", 0},
                 {"communicator 1 of 2 ranks or more", 0},
                 {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lull_device device = {.name = cases[i].name, .runtime = "NCCL"};
        assert_int_equal(lull_communicator_ranks(&device), cases[i].ranks);
    }
}

TEST_GROUP(test_classify)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_every_function_of_mpi_h),
        cmocka_unit_test(test_shmem),
        cmocka_unit_test(test_openmp),
        cmocka_unit_test(test_openmp_functions),
        cmocka_unit_test(test_pthreads),
        cmocka_unit_test(test_user_code),
        cmocka_unit_test(test_paradigm_of_the_tracer),
        cmocka_unit_test(test_role_of_the_tracer),
        cmocka_unit_test(test_tracer_regions),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_host_and_device),
        cmocka_unit_test(test_default_streams),
        cmocka_unit_test(test_ranks_of_communicators),
    };
    return run_cases(tests, NULL, NULL);
}
