#include "report/checks/checks.h"

#include "base/output_file.h"

const char *lull_check_word(enum lull_check_status status)
{
    static const char *const words[] = {"passed", "failed", "unknown"};
    return words[status];
}

struct file {
    const struct lull_checks_form *form;
    const struct lull_checks *checks;
};

static void write_file(const void *content, FILE *out)
{
    const struct file *file = content;
    file->form->write(file->checks, out);
}

lull_status lull_checks_save(const char *path, const struct lull_checks_form *form,
                             const struct lull_checks *checks, struct lull_error *err)
{
    return lull_file_write(path, write_file, &(struct file){form, checks}, err);
}
