// What ended a wait, and why it came so late: a chain of waits from rank to rank.

// The index of the message that a leaf received last in a span of time, or -1.
function lastReceived(list, leaf, from, to) {
    let best = -1;
    for (let i = 0; i < list.count; i++)
        if (list.receiver[i] === leaf && list.received[i] > from && list.received[i] <= to
            && (best < 0 || list.received[i] > list.received[best]))
            best = i;
    return best;
}

// Of the messages that a leaf sent in a step, the one whose receiver began to receive it last, if only after the step
// had begun: {leaf, time} of this begin, or null.
function lateReceiver(timeline, list, leaf, step) {
    let best = null;
    for (let i = firstAbove(list.sent, step.begin - 1e-9); i < list.count && list.sent[i] < step.end; i++) {
        const receiving = list.sender[i] === leaf ? timeline.stepAt(list.receiver[i], list.received[i] - 1) : null;
        if (receiving && receiving.begin > step.begin && receiving.begin < step.end
            && (!best || receiving.begin > best.time))
            best = {leaf: list.receiver[i], time: receiving.begin};
    }
    return best;
}

// The leaf that was late for a step: the one whose step of the same region and activity began last before this one
// ended. {leaf, time} of this begin, or null. With `ofProcess` only leaves of the same process count, as threads wait
// for those of their own process only.
function lastToArrive(timeline, leaf, step, ofProcess) {
    const parentOf = (one) => timeline.rows.parent[timeline.leafRows[one]];
    let best = null;
    timeline.steps.forEach((pieces, other) => {
        if (ofProcess && parentOf(other) !== parentOf(leaf))
            return;
        for (const piece of pieces || []) {
            if (piece.begin > step.end || piece.end < step.begin)
                continue;
            for (let i = firstAbove(piece.ends, step.begin); i < piece.ends.length; i++) {
                const begin = i ? piece.ends[i - 1] : piece.begin;
                if (begin >= step.end)
                    break;
                if (piece.activities[i] === step.activity && piece.regions[i] === step.region
                    && begin > step.begin && (!best || begin > best.time))
                    best = {leaf: other, time: begin};
            }
        }
    });
    return best && best.leaf !== leaf ? best : null;
}

// The same where the steps of others are not on the page: who spent least of this time in the activity, by the cells of
// the timeline, came last, if that is less than half as much as this one spent. Its time is known to a cell.
function lastByShares(timeline, leaf, step, ofProcess) {
    const parentOf = (one) => timeline.rows.parent[timeline.leafRows[one]];
    const shareOf = (one) => sharesBetween(timeline, timeline.leafRows[one], step.begin, step.end)[step.activity];
    let best = null, least = shareOf(leaf) / 2;
    for (let other = 0; other < timeline.leafRows.length; other++) {
        if (other === leaf || (ofProcess && parentOf(other) !== parentOf(leaf)))
            continue;
        const share = shareOf(other);
        if (share < least) {
            least = share;
            best = {leaf: other, time: step.end - share * (step.end - step.begin)};
        }
    }
    return best;
}

// Kinds of activities (enum lull_picture_paint): waiting for messages, for all ranks, for threads.
const paintMessages = 1, paintCollective = 2, paintSync = 4;

// What ended a step of a leaf: {leaf, time} of its cause, or null if none is known.
function endOf(timeline, leaf, step) {
    const list = timeline.messagesKept(), {paint} = timeline.activities[step.activity];
    const message = list ? lastReceived(list, leaf, step.begin, step.end) : -1;
    if (message >= 0)
        return {leaf: list.sender[message], time: list.sent[message]};
    if (paint === paintMessages)
        return list && lateReceiver(timeline, list, leaf, step);
    if (paint === paintCollective || paint === paintSync)
        return lastToArrive(timeline, leaf, step, paint === paintSync)
            || (timeline.all_steps ? null : lastByShares(timeline, leaf, step, paint === paintSync));
    return null;
}

// The step of a leaf with this activity that takes longest within a span of time, or null.
function longestStep(timeline, leaf, activity, from, to) {
    let best = null, longest = 0;
    for (const piece of timeline.leafPieces(leaf) || [])
        for (let i = firstAbove(piece.ends, from); i < piece.ends.length; i++) {
            const step = timeline.stepOf(piece, i), length = Math.min(step.end, to) - Math.max(step.begin, from);
            if (step.begin >= to)
                break;
            if (step.activity === activity && length > longest) {
                longest = length;
                best = step;
            }
        }
    return best;
}

// Why a leaf came late to a wait that began at `from` and ended at `to`: {text, wait}. `text` says what the leaf did
// for most of this time. If it waited, `wait` is this step, the next one of the chain; else it is null.
function whyLate(timeline, leaf, from, to) {
    const name = timeline.rows.name[timeline.leafRows[leaf]];
    if (to <= from)
        return {text: `${name} had sent the message before the wait began`, wait: null};
    const shares = sharesBetween(timeline, timeline.leafRows[leaf], from, to);
    const most = shares.reduce((best, share, i) => share > shares[best] ? i : best, 0);
    const step = longestStep(timeline, leaf, most, from, to), end = step ? endOf(timeline, leaf, step) : null;
    const text = `${name}: ${timeline.activities[most].label} ${formatShare(Math.min(1, shares[most]))} `
        + `of the ${formatTime(to - from)} in which it was waited for`;
    return {text, wait: end ? step : null};
}
