#include "view/notices_document.h"

void lull_document_add_notices(struct lull_document *document, const struct lull_notices *notices)
{
    for (size_t i = 0; i < notices->count; i++) {
        const struct lull_notice *notice = &notices->items[i];
        enum lull_note_kind kind =
            notice->kind == LULL_NOTICE_WARNING ? LULL_NOTE_WARNING : LULL_NOTE_INFO;
        lull_document_note(document, kind, "%s", notice->text);
    }
}
