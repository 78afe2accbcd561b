/* Files of MPI: which one a handle stands for. One that was opened while nothing was recorded is
 * not known. */
#include "record/aside.h"
#include "record/file/file.h"
#include "record/mpi/wrap.h"

static struct rec_map handle_files; /* -> id */
static pthread_mutex_t mpi_files_lock = PTHREAD_MUTEX_INITIALIZER;

static void remember_file(MPI_File file, uint32_t id)
{
    const struct rec_aside aside = rec_step_aside();
    pthread_mutex_lock(&mpi_files_lock);
    rec_map_put(&handle_files, (uintptr_t)file, id);
    pthread_mutex_unlock(&mpi_files_lock);
    rec_step_back(&aside);
}

void rec_mpi_io_open(struct rec_mpi_call *call, const char *path, MPI_File file)
{
    rec_mpi_call(call);
    const uint32_t id = rec_file_of_path(path);
    remember_file(file, id);
    rec_file_put(call->self, call->begin, LULL_TAPE_IO_OPEN, id, 0);
}

void rec_mpi_io(struct rec_mpi_call *call, enum rec_io op, MPI_File file, uint64_t bytes)
{
    rec_mpi_call(call);
    rec_file_put(call->self, call->begin, (unsigned)op,
                 (uint32_t)rec_map_get(&handle_files, (uintptr_t)file), bytes);
}

uint32_t rec_mpi_io_forget(const MPI_File *file)
{
    const uint32_t id = file ? (uint32_t)rec_map_get(&handle_files, (uintptr_t)*file) : 0;
    if (id != 0)
        remember_file(*file, 0);
    return id;
}

void rec_mpi_io_close(struct rec_mpi_call *call, uint32_t file)
{
    rec_mpi_call(call);
    rec_file_put(call->self, call->begin, LULL_TAPE_IO_CLOSE, file, 0);
}
