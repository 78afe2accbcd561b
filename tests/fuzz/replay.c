/* Replays a corpus through a fuzz target: every regular file in the folders named. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        return 1;
    }
    struct stat info;
    if (fstat(fileno(in), &info) != 0 || !S_ISREG(info.st_mode)) {
        fclose(in);
        return 0;
    }
    size_t size = (size_t)info.st_size;
    uint8_t *data = malloc(size ? size : 1);
    size = data ? fread(data, 1, size, in) : 0;
    fclose(in);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0, replayed = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            perror(argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            failed |= replay_file(path);
            replayed++;
        }
        closedir(folder);
    }
    printf("%d inputs replayed\n", replayed);
    return failed || replayed == 0;
}
