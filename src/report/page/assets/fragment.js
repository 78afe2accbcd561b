// The fragment of the address says what is seen, so that a view can be kept, sent and opened again.

function writeFragment(viewer) {
    const {from, to} = viewer.view, {cursor, rows, timeline} = viewer.current;
    const state = new URLSearchParams();
    state.set("runs", viewer.numbers.join(","));
    state.set("from", Math.round(from));
    state.set("to", Math.round(to));
    state.set("in", viewer.panels.indexOf(viewer.current));
    state.set("row", rows.list[cursor.place].row);
    state.set("at", Math.round(cursor.time));
    if (rows.sort >= 0)
        state.set("sort", timeline.sortKeys[rows.sort].id);
    if (!viewer.messages)
        state.set("messages", "0");
    if (viewer.hits)
        state.set("find", viewer.hits.word);
    viewer.panels.forEach((panel, i) => {
        if (panel.rows.pinned.length)
            state.set("pin" + i, panel.rows.pinned.join(","));
        if (panel.rows.folded.size <= 200)
            state.set("fold" + i, [...panel.rows.folded].join(","));
    });
    const fragment = "#view?" + state;
    if (location.hash !== fragment)
        history.replaceState(null, "", fragment);
}

function numbersOf(text, below) {
    return (text || "").split(",").filter((word) => /^\d+$/.test(word)).map(Number).filter((number) => number < below);
}

// Shows the view of the fragment, of which anything that makes no sense is passed over. Returns whether it has a view.
function readFragment(viewer) {
    if (!location.hash.startsWith("#view?"))
        return false;
    const state = new URLSearchParams(location.hash.slice(6));
    const runs = numbersOf(state.get("runs"), viewer.timelines.length).slice(0, 2);
    if (runs.length && runs.join() !== viewer.numbers.join())
        viewer.show(runs);
    viewer.panels.forEach((panel, i) => {
        const {count} = panel.timeline;
        if (state.has("fold" + i))
            panel.rows.folded = new Set(numbersOf(state.get("fold" + i), count));
        panel.rows.pinned = numbersOf(state.get("pin" + i), count);
        panel.rows.lay();
        panel.invalidate();
    });
    viewer.current = viewer.panels[numbersOf(state.get("in"), viewer.panels.length)[0] || 0];
    viewer.messages = state.get("messages") !== "0";
    viewer.sortBy(viewer.sortKeys.findIndex((one) => one.id === state.get("sort")));
    if (state.get("find")) {
        viewer.query.value = state.get("find");
        search(viewer, viewer.query.value);
    }
    const [row] = numbersOf(state.get("row"), viewer.current.timeline.count);
    const [at] = numbersOf(state.get("at"), Infinity);
    if (row !== undefined)
        viewer.moveCursor(viewer.current, viewer.current.rows.reveal(row), at || 0);
    const [from, to] = [state.get("from"), state.get("to")].map(Number);
    if (Number.isFinite(from) && to > from)
        viewer.setView(from, to);
    return true;
}
