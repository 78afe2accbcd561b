// Shares: what a row did in each column of pixels. All of its time is added up by activity, nothing is sampled.

// Adds to `out`[column * activities + activity] how long a row was in each activity, as a share of the column's time
// times `weight`. The shares come from exact steps where these are kept, else from cells: a column takes the part of
// each bin that lies in it. Rows with more than `most` leaves are drawn from cells. Returns false while data are on
// their way.
function addShares(timeline, row, view, columns, out, weight = 1, most = mostLeaves) {
    const leaf = timeline.rows.leaf[row];
    if (leaf >= 0)
        return addLeaf(timeline, leaf, timeline.rowCells(row), view, columns, out, weight);
    const leaves = timeline.rows.leaves[row];
    if (leaves > most || !timeline.stepped[row])
        return addCells(timeline, timeline.rowCells(row), view, columns, out, weight);
    let whole = true;
    for (const child of timeline.children[row]) {
        const part = weight * timeline.rows.leaves[child] / leaves;
        whole = addShares(timeline, child, view, columns, out, part, most) && whole;
    }
    return whole;
}

const mostLeaves = 64;

function addCells(timeline, cells, view, columns, out, weight, from = 0, to = columns) {
    if (!cells)
        return false;
    const bins = 2 ** cells.level, count = timeline.activities.length;
    const scale = bins / timeline.length, perColumn = (view.to - view.from) / columns;
    for (let column = from; column < to; column++) {
        const low = Math.max(0, (view.from + column * perColumn) * scale);
        const high = Math.min(bins, (view.from + (column + 1) * perColumn) * scale);
        if (!(high > low))
            continue;
        const first = Math.floor(low), last = Math.min(Math.ceil(high), bins) - 1;
        const unit = weight / (255 * perColumn * scale);
        for (const {activity, values} of cells.planes) {
            let sum = 0;
            if (first === last) {
                sum = values[first] * (high - low);
            } else {
                sum = values[first] * (first + 1 - low) + values[last] * (high - last);
                for (let bin = first + 1; bin < last; bin++)
                    sum += values[bin];
            }
            out[column * count + activity] += sum * unit;
        }
    }
    return true;
}

// Adds the shares of a leaf: from exact steps where they are kept, from cells between them.
function addLeaf(timeline, leaf, cells, view, columns, out, weight) {
    const pieces = timeline.leafPieces(leaf);
    if (!pieces)
        return addCells(timeline, cells, view, columns, out, weight) && false;
    const perColumn = (view.to - view.from) / columns;
    let next = 0;
    for (const piece of pieces) {
        const first = Math.ceil((piece.begin - view.from) / perColumn);
        const end = Math.floor((piece.end - view.from) / perColumn);
        const last = piece.end >= timeline.length ? Math.ceil((piece.end - view.from) / perColumn) : end;
        const low = Math.max(next, first), high = Math.min(columns, last);
        if (high <= low)
            continue;
        addCells(timeline, cells, view, columns, out, weight, next, low);
        addPiece(timeline, piece, view, columns, out, weight, low, high);
        next = high;
    }
    return addCells(timeline, cells, view, columns, out, weight, next, columns);
}

function addPiece(timeline, piece, view, columns, out, weight, low, high) {
    const count = timeline.activities.length;
    const perColumn = (view.to - view.from) / columns;
    const from = view.from + low * perColumn, to = view.from + high * perColumn;
    for (let i = firstAbove(piece.ends, from); i < piece.ends.length; i++) {
        const begin = Math.max(i ? piece.ends[i - 1] : piece.begin, from);
        const end = Math.min(piece.ends[i], to);
        if (begin >= to)
            return;
        const first = (begin - view.from) / perColumn, last = (end - view.from) / perColumn;
        for (let column = Math.floor(first); column < last && column < high; column++) {
            const part = Math.min(column + 1, last) - Math.max(column, first);
            if (part > 0)
                out[column * count + piece.activities[i]] += part * weight;
        }
    }
}

// The share of each activity of a row between two times, as a part of 1.
function sharesBetween(timeline, row, from, to) {
    const out = new Float64Array(timeline.activities.length);
    addShares(timeline, row, {from, to}, 1, out);
    return out;
}
