/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/device/opencl_drivers.h"

#include "record/libraries.h"
#include "record/life_cycle.h"
#include "record/report.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the environment said when libOpenCL asked; "": nothing. OPENCL_VENDOR_PATH is a folder; OCL_ICD_VENDORS is one, or
 * for ocl-icd also a file that names a driver, or the driver itself; OCL_ICD_FILENAMES has drivers between colons. */
static char opencl_vendors[PATH_MAX], opencl_vendor_path[PATH_MAX], opencl_filenames[PATH_MAX];
static pid_t asked_for_drivers; /* the process in which libOpenCL did */

/* Drivers that are named, and the first that is not loaded. */
struct opencl_drivers {
    unsigned n, n_loaded;
    char first[256], named_by[256];
};

/* Texts come from files and the environment. */
static void copy_printable(char *to, size_t size, const char *text)
{
    size_t n = 0;
    for (; text[n] && n + 1 < size; n++)
        to[n] = (unsigned char)text[n] < ' ' || text[n] == 0x7f ? '?' : text[n];
    to[n] = '\0';
}

static void see_driver(struct opencl_drivers *drivers, const char *library, const char *named_by)
{
    if (*library == '\0')
        return;
    const bool loaded = rec_is_loaded(library);
    drivers->n++;
    drivers->n_loaded += loaded;
    if (loaded || *drivers->first)
        return;
    copy_printable(drivers->first, sizeof drivers->first, library);
    copy_printable(drivers->named_by, sizeof drivers->named_by, named_by);
}

/* A file whose first line names a driver. */
static void see_icd(struct opencl_drivers *drivers, const char *path)
{
    char line[PATH_MAX];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t got = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return;
    line[got] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    see_driver(drivers, line, path);
}

static bool is_icd(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

/* By getdents64, because opendir takes memory of the program's heap. False: it is no folder. */
static bool see_folder_of_drivers(struct opencl_drivers *drivers, const char *folder)
{
    _Alignas(struct dirent64) char entries[2048];
    char path[PATH_MAX];
    ssize_t size;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && (size = getdents64(fd, entries, sizeof entries)) > 0)
        for (ssize_t at = 0; at < size;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            const int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            if (is_icd(entry->d_name) && length > 0 && (size_t)length < sizeof path)
                see_icd(drivers, path);
            at += entry->d_reclen;
        }
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void see_filenames(struct opencl_drivers *drivers)
{
    char list[PATH_MAX], *rest = NULL;
    memcpy(list, opencl_filenames, sizeof list);
    for (char *one = strtok_r(list, ":", &rest); one; one = strtok_r(NULL, ":", &rest))
        see_driver(drivers, one, REC_OPENCL_FILENAMES);
}

/* OCL_ICD_VENDORS. A file that it names without a slash is looked for in `folder` first. */
static void see_vendors(struct opencl_drivers *drivers, const char *folder)
{
    char path[PATH_MAX];
    if (see_folder_of_drivers(drivers, opencl_vendors))
        return;
    if (!is_icd(opencl_vendors)) {
        see_driver(drivers, opencl_vendors, REC_OPENCL_VENDORS);
        return;
    }
    const int length = snprintf(path, sizeof path, "%s/%s", folder, opencl_vendors);
    if (!strchr(opencl_vendors, '/') && length > 0 && (size_t)length < sizeof path)
        see_icd(drivers, path);
    else
        see_icd(drivers, opencl_vendors);
}

/* When the process ends, before libraries are unloaded. */
static void look_for_drivers(void)
{
    struct opencl_drivers drivers = {.n = 0};
    char more[32] = "";
    if (getpid() != asked_for_drivers)
        return;
    const struct rec_aside aside = rec_step_aside();
    const char *folder = *opencl_vendor_path ? opencl_vendor_path : "/etc/OpenCL/vendors";
    if (*opencl_vendors)
        see_vendors(&drivers, folder);
    else
        see_folder_of_drivers(&drivers, folder);
    see_filenames(&drivers);
    if (drivers.n > 1)
        snprintf(more, sizeof more, " (and %u more)", drivers.n - 1);
    if (drivers.n > 0 && drivers.n_loaded == 0)
        rec_report_say("OpenCL: none of its drivers is loaded: %s names %s%s", drivers.named_by,
                       drivers.first, more);
    rec_step_back(&aside);
}

static void keep_variable(char *text, size_t size, const char *name)
{
    const char *value = getenv(name);
    snprintf(text, size, "%s", value ? value : "");
}

void rec_opencl_drivers_watch(void)
{
    static bool watched; /* atomic */
    if (__atomic_test_and_set(&watched, __ATOMIC_RELAXED))
        return;
    keep_variable(opencl_vendors, sizeof opencl_vendors, REC_OPENCL_VENDORS);
    keep_variable(opencl_vendor_path, sizeof opencl_vendor_path, "OPENCL_VENDOR_PATH");
    keep_variable(opencl_filenames, sizeof opencl_filenames, REC_OPENCL_FILENAMES);
    asked_for_drivers = getpid();
    atexit(look_for_drivers);
}
