// Messages between the rows of a timeline: arrows if there are few rows, and how many messages are on their way.

const mostArrowRows = 200, mostArrows = 2000;
const plainArrows = 150; // more are drawn thinner, without heads

// The indices of the messages that are on their way within the view; null if there are more than `most`.
function messagesIn(list, view, most) {
    const found = [];
    const end = firstAbove(list.sent, view.to);
    for (let i = 0; i < end; i++)
        if (list.received[i] >= view.from) {
            if (found.length === most)
                return null;
            found.push(i);
        }
    return found;
}

// How many messages are on their way in each column, on average.
function messageDensity(list, view, columns) {
    const perColumn = (view.to - view.from) / columns;
    const density = new Float64Array(columns), whole = new Float64Array(columns + 1);
    const end = firstAbove(list.sent, view.to);
    for (let i = 0; i < end; i++) {
        const from = Math.max(0, (list.sent[i] - view.from) / perColumn);
        const to = Math.min(columns, (list.received[i] - view.from) / perColumn);
        if (to <= from)
            continue;
        const first = Math.floor(from), last = Math.floor(to);
        if (first === last) {
            density[first] += to - from;
            continue;
        }
        density[first] += first + 1 - from;
        if (last < columns)
            density[last] += to - last;
        whole[first + 1]++;
        whole[last]--;
    }
    let open = 0;
    for (let column = 0; column < columns; column++) {
        open += whole[column];
        density[column] += open;
    }
    return density;
}
