#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    static char data[65536];
    int rank, ends[2];
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int input = open("/dev/zero", O_RDONLY);
    read(input, data, sizeof data);
    close(input);
    pipe(ends);
    write(ends[1], data, 100);
    read(ends[0], data, 60);
    MPI_File_open(MPI_COMM_WORLD, "field.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &file);
    for (int i = 0; i < 4; i++)
        MPI_File_write_at_all(file, 4096 * (2 * i + rank), data, 4096, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    if (rank == 0) {
        FILE *log = fopen("steps.log", "w");
        for (int i = 0; i < 10; i++)
            fprintf(log, "step %d\n", i);
        fclose(log);
    }
    MPI_Finalize();
    return 0;
}
