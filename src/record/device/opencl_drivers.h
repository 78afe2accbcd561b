/* SPDX-License-Identifier: BSD-3-Clause */
/* Drivers of OpenCL that are named and not loaded. libOpenCL, which loads the drivers, passes over what it cannot open without
 * a word, and the program gets no platform. ocl-icd then calls no layer, so that the back-end for OpenCL does not learn of
 * it. So where libOpenCL has asked for drivers, and the program ends without any that is named, one line says which
 * file names which library.
 *
 * Nothing is opened for that but the files that name drivers. The libraries that the process has loaded are looked through by
 * their names. */
#ifndef LULL_RECORD_DEVICE_OPENCL_DRIVERS_H
#define LULL_RECORD_DEVICE_OPENCL_DRIVERS_H

/* Variables by which libOpenCL asks where drivers are named. ocl-icd asks for the first one, before it loads a
 * driver; Khronos' loader for both, first for the second one, whose value it divides where that stands. */
#define REC_OPENCL_VENDORS   "OCL_ICD_VENDORS"
#define REC_OPENCL_FILENAMES "OCL_ICD_FILENAMES"

/* libOpenCL asks for one of these variables: its drivers are looked at when the program ends. Calls but the first do nothing. */
void rec_opencl_drivers_watch(void);

#endif
