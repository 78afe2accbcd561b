/* A program that goes on marking in the children that it forks while another thread marks: none of
 * them waits for that one, which they have not. Prints what must be found. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct monitor monitor;
monitor *DLB_MonitoringRegionRegister(const char *name) __attribute__((weak));
int DLB_MonitoringRegionStart(monitor *handle) __attribute__((weak));
int DLB_MonitoringRegionStop(monitor *handle) __attribute__((weak));

enum { CHILDREN = 400, SECONDS = 30 };

static int over; /* atomic */

static void *register_many(void *argument)
{
    char name[32];
    for (unsigned i = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
        snprintf(name, sizeof name, "region %u", i % 100000);
        DLB_MonitoringRegionRegister(name);
    }
    return argument;
}

static void mark(const char *name)
{
    monitor *handle = DLB_MonitoringRegionRegister(name);
    DLB_MonitoringRegionStart(handle);
    DLB_MonitoringRegionStop(handle);
}

int main(void)
{
    pthread_t other;
    int failures = 0;
    if (!DLB_MonitoringRegionRegister || !DLB_MonitoringRegionStart || !DLB_MonitoringRegionStop)
        return 0; /* alone */
    if (pthread_create(&other, NULL, register_many, NULL) != 0)
        return 1;
    for (int i = 0; i < CHILDREN && failures == 0; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            alarm(SECONDS);
            mark("child");
            _exit(0);
        }
        failures += child < 0 || waitpid(child, &status, 0) != child || status != 0;
        mark("parent");
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    printf("expect %d parent\nexpect 0 child\n", CHILDREN);
    return failures != 0;
}
