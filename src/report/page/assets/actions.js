// The actions of the timeline: the keys of each, its button if it has one, and what it does.

const actions = [
    {keys: ["+", "="], button: "Zoom in", about: "look closer at the cursor", run: (viewer) => viewer.zoom(2)},
    {keys: ["-"], button: "Zoom out", about: "look from farther away", run: (viewer) => viewer.zoom(0.5)},
    {keys: ["0"], button: "Whole run", about: "see the whole run", run: (viewer) => viewer.whole()},
    {keys: ["ArrowLeft"], about: "move the cursor", run: (viewer) => step(viewer, -1, 0)},
    {keys: ["ArrowRight"], about: "move the cursor", run: (viewer) => step(viewer, 1, 0)},
    {keys: ["ArrowUp"], about: "move the cursor", run: (viewer) => step(viewer, 0, -1)},
    {keys: ["ArrowDown"], about: "move the cursor", run: (viewer) => step(viewer, 0, 1)},
    {keys: ["Shift+ArrowLeft", "a"], button: "◀ Earlier", about: "see an earlier part", run: (viewer) => viewer.pan(-0.25)},
    {keys: ["Shift+ArrowRight", "d"], button: "Later ▶", about: "see a later part", run: (viewer) => viewer.pan(0.25)},
    {keys: ["PageUp"], about: "scroll the rows up", run: (viewer) => scrollRows(viewer, -1)},
    {keys: ["PageDown"], about: "scroll the rows down", run: (viewer) => scrollRows(viewer, 1)},
    {keys: ["Enter", "f"], button: "Fold", about: "fold or unfold the row, or what it is in", run: toggleFold},
    {keys: ["F"], button: "Fold all", about: "fold or unfold all rows", run: toggleAll},
    {keys: ["p"], button: "Pin", about: "keep the row at the top, or let it go",
     run: (viewer) => viewer.changeRows((rows, row) => rows.pin(row))},
    {keys: ["s"], about: "sort rows by the next activity or counter", run: nextSort},
    {keys: ["m"], button: "Messages", about: "show or hide messages", run: toggleMessages},
    {keys: ["w"], button: "Next long wait", about: "go to the next one of the longest waits", run: nextPlace},
    {keys: ["e"], button: "What ended it?", about: "go from a wait to what ended it; again: to why that came late",
     run: goToEnd},
    {keys: ["["], about: "previous step of the row", run: (viewer) => neighbour(viewer, -1)},
    {keys: ["]"], about: "next step of the row", run: (viewer) => neighbour(viewer, 1)},
    {keys: ["/"], about: "search", run: (viewer) => viewer.query.focus()},
    {keys: ["n"], button: "Next hit", about: "next hit of the search", run: (viewer) => nextHit(viewer, 1)},
    {keys: ["N"], about: "previous hit of the search", run: (viewer) => nextHit(viewer, -1)},
    {keys: ["o"], about: "the other run", run: otherRun},
    {keys: ["?"], button: "Keys ?", about: "list all keys", run: (viewer) => viewer.help.showModal()},
];

function step(viewer, columns, places) {
    const panel = viewer.current, {view} = viewer;
    const wide = (view.to - view.from) / 100, place = clamp(panel.cursor.place + places, 0, panel.rows.list.length - 1);
    viewer.moveCursor(panel, place, panel.cursor.time + columns * wide);
    if (place < panel.scroll)
        panel.scroll = place;
    else if (place >= panel.scroll + panel.seen)
        panel.scroll = place - panel.seen + 1;
    const {time} = panel.cursor;
    if (time < view.from || time > view.to)
        viewer.setView(time - (view.to - view.from) / 2, time + (view.to - view.from) / 2);
}

function scrollRows(viewer, pages) {
    const panel = viewer.current;
    panel.scroll += pages * Math.max(1, panel.seen - 1);
    panel.measure();
    viewer.moveCursor(panel, clamp(panel.cursor.place, panel.scroll, panel.scroll + panel.seen - 1), panel.cursor.time);
}

// Folds or unfolds the row at the cursor; if it cannot be folded, folds the row that it is in.
function toggleFold(viewer) {
    viewer.changeRows((rows, row) => {
        const parent = rows.timeline.rows.parent[row];
        if (!rows.fold(row, !rows.folded.has(row)) && parent >= 0)
            rows.fold(parent, true);
    });
}

function toggleAll(viewer) {
    viewer.changeRows((rows) => rows.foldAll(rows.folded.size === 0));
}

function nextSort(viewer) {
    viewer.sortBy((Number(viewer.sorts.value) + 2) % (viewer.sortKeys.length + 1) - 1);
}

function toggleMessages(viewer) {
    viewer.messages = !viewer.messages;
    viewer.redraw();
}

function otherRun(viewer) {
    const next = viewer.panels[(viewer.panels.indexOf(viewer.current) + 1) % viewer.panels.length];
    viewer.moveCursor(next, next.cursor.place, next.cursor.time);
    next.canvas.focus();
}

function showPlace(viewer, panel, number) {
    const place = panel.timeline.places[number];
    panel.atPlace = number;
    viewer.goTo(panel, panel.timeline.leafRows[place.leaf], (place.begin + place.end) / 2,
                3 * Math.max(1, place.end - place.begin));
}

function nextPlace(viewer) {
    const panel = viewer.current, count = panel.timeline.places.length;
    if (count)
        showPlace(viewer, panel, panel.atPlace === undefined ? 0 : (panel.atPlace + 1) % count);
    else
        viewer.say("This run has no waits.");
}

function currentLeaf(panel) {
    return panel.timeline.rows.leaf[panel.rows.list[panel.cursor.place].row];
}

// Moves the cursor from a wait to what ended it. Called again there, it moves on along the chain of waits: to what
// ended the wait that made this come late.
async function goToEnd(viewer) {
    const panel = viewer.current, {timeline} = panel, leaf = currentLeaf(panel), {chain} = panel;
    await timeline.loadAllSteps();
    const goesOn = chain && chain.leaf === leaf && chain.time === panel.cursor.time;
    const now = goesOn ? chain.wait : leaf >= 0 ? timeline.stepAt(leaf, panel.cursor.time) : null;
    if (goesOn && !now) {
        tellOnce(viewer, `It waited for nobody: ${chain.text}.`);
        return;
    }
    if (!now) {
        tellOnce(viewer, "No single step is known here: choose a row without rows below, or zoom in.");
        return;
    }
    const end = endOf(timeline, leaf, now);
    if (!end) {
        tellOnce(viewer, timeline.all_steps
            ? "Nothing else is known to have ended this step: no message, and nobody who came later."
            : "What ended this step is not on this page, which has not all steps and messages of the run: a report of "
              + "this part of the time has them (see the command under the rows).");
        return;
    }
    viewer.goTo(panel, timeline.leafRows[end.leaf], end.time);
    panel.chain = {leaf: end.leaf, time: panel.cursor.time, ...whyLate(timeline, end.leaf, now.begin, end.time)};
    tellOnce(viewer, `${panel.chain.text}.${panel.chain.wait ? " Again for whom it waited." : ""}`);
}

function tellOnce(viewer, text) {
    viewer.say(text);
    viewer.found.textContent = text;
}

function neighbour(viewer, direction) {
    const panel = viewer.current, leaf = currentLeaf(panel);
    const now = leaf >= 0 ? panel.timeline.stepAt(leaf, panel.cursor.time) : null;
    if (!now)
        return;
    const index = now.index + direction;
    if (index >= 0 && index < now.piece.ends.length) {
        const next = panel.timeline.stepOf(now.piece, index);
        viewer.goTo(panel, panel.timeline.leafRows[leaf], (next.begin + next.end) / 2);
    }
}

// ---- search ---------------------------------------------------------------------------------

function search(viewer, text) {
    const word = text.trim().toLowerCase();
    const hits = {word, regions: new Map(), rows: []}; // regions: panel -> indices of its regions
    let count = 0;
    if (word) {
        for (const panel of viewer.panels) {
            const regions = new Set();
            for (const [index, {name, site}] of panel.timeline.regionNames)
                if (`${name} ${site}`.toLowerCase().includes(word))
                    regions.add(index);
            hits.regions.set(panel, regions);
            count += regions.size;
            panel.timeline.rows.name.forEach((name, row) => {
                if (name.toLowerCase().includes(word))
                    hits.rows.push({panel, row});
            });
        }
    }
    viewer.hits = word ? hits : null;
    viewer.found.textContent = word
        ? `${hits.rows.length} rows, ${count} regions` : "";
    viewer.redraw();
}

// Goes to the next row that was found, or the one before; if no row was found, to the next step in a region that was.
function nextHit(viewer, direction) {
    const {hits} = viewer;
    if (!hits)
        return;
    if (hits.rows.length) {
        hits.at = ((hits.at === undefined ? -direction * (direction < 0 ? 0 : 1) : hits.at) + direction
                   + hits.rows.length) % hits.rows.length;
        const {panel, row} = hits.rows[hits.at];
        viewer.goTo(panel, row, panel.cursor.time);
        viewer.found.textContent = `row ${hits.at + 1} of ${hits.rows.length}`;
        return;
    }
    nextStepHit(viewer, direction);
}

async function nextStepHit(viewer, direction) {
    const panel = viewer.current, {timeline} = panel, {time} = panel.cursor;
    await timeline.loadAllSteps();
    const regions = viewer.hits.regions.get(panel) || new Set();
    let best = null;
    timeline.steps.forEach((pieces, leaf) => {
        for (const piece of pieces)
            for (let i = 0; i < piece.ends.length; i++) {
                if (!regions.has(piece.regions[i]))
                    continue;
                const one = timeline.stepOf(piece, i), middle = (one.begin + one.end) / 2;
                const ahead = direction * (middle - time);
                if (ahead > 1e-9 && (!best || ahead < best.ahead))
                    best = {ahead, leaf, middle, length: one.end - one.begin};
            }
    });
    if (best) {
        const {from, to} = viewer.view, least = 8 * (to - from) / panel.columns; // shorter steps are hard to see
        viewer.goTo(panel, timeline.leafRows[best.leaf], best.middle, best.length < least ? 20 * best.length : 0);
    }
    viewer.found.textContent = best ? "" : "no further step is on this page";
}

// ---- keys and gestures ----------------------------------------------------------------------

function keyOf(event) {
    return event.shiftKey && event.key.startsWith("Arrow") ? "Shift+" + event.key : event.key;
}

function listen(viewer, panel) {
    const {canvas} = panel;
    canvas.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.altKey || event.metaKey)
            return;
        const action = actions.find((one) => one.keys.includes(keyOf(event)));
        if (!action)
            return;
        event.preventDefault();
        viewer.current = panel;
        action.run(viewer);
        viewer.redraw();
    });
    canvas.addEventListener("focus", () => { viewer.current = panel; viewer.redraw(); });
    canvas.addEventListener("wheel", (event) => wheel(viewer, panel, event), {passive: false});
    canvas.addEventListener("dblclick", (event) => viewer.zoom(2, panel.timeAt(event.offsetX)));
    listenDrag(viewer, panel);
}

// The wheel zooms with Ctrl and moves in time with Shift. Else it scrolls the rows or, where they cannot scroll
// further, the page.
function wheel(viewer, panel, event) {
    const amount = event.deltaY || event.deltaX;
    if (event.ctrlKey || event.metaKey) {
        viewer.zoom(amount < 0 ? 1.25 : 0.8, panel.timeAt(event.offsetX));
    } else if (event.shiftKey || event.deltaX) {
        viewer.panColumns(Math.round(amount));
    } else {
        const before = panel.scroll;
        panel.scroll += Math.sign(amount) * Math.ceil(panel.seen / 10);
        panel.measure();
        if (panel.scroll === before)
            return;
        viewer.redraw();
    }
    event.preventDefault();
}

// Dragging moves in time; with Shift it chooses the part of the time that is seen.
function listenDrag(viewer, panel) {
    const {canvas} = panel;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
        drag = {x: event.offsetX, from: viewer.view.from, moved: false, choose: event.shiftKey,
                time: panel.timeAt(event.offsetX)};
        canvas.setPointerCapture(event.pointerId);
    });
    listenMoves(canvas, (event) => {
        const place = panel.placeAt(event.offsetY);
        if (drag && (drag.moved || Math.abs(event.offsetX - drag.x) > 3)) {
            drag.moved = true;
            if (!drag.choose) {
                viewer.dragged = true;
                const columns = Math.round((drag.x - event.offsetX) * panel.ratio);
                viewer.panColumns(columns);
                drag.x -= columns / panel.ratio;
            }
            return;
        }
        if (event.offsetX > panel.labels && event.offsetY > panel.top)
            viewer.moveCursor(panel, place, panel.timeAt(event.offsetX));
    });
    canvas.addEventListener("pointerup", (event) => {
        const done = drag, place = panel.placeAt(event.offsetY);
        drag = null;
        viewer.dragged = false;
        viewer.redraw();
        if (!done)
            return;
        if (done.moved && done.choose) {
            const time = panel.timeAt(event.offsetX);
            viewer.setView(Math.min(time, done.time), Math.max(time, done.time));
        } else if (!done.moved && event.offsetY > panel.top) {
            viewer.moveCursor(panel, place, event.offsetX > panel.labels ? panel.timeAt(event.offsetX)
                                                                         : panel.cursor.time);
            if (event.offsetX <= panel.labels)
                toggleFold(viewer);
        }
    });
}

function buildHelp(viewer) {
    const rows = actions.map((action) => make("tr", {}, make("th", {scope: "row"}, action.keys.join(" or ")),
                                              make("td", {}, action.about)));
    const gestures = [["click on a name", "fold or unfold it"], ["drag", "move in time"],
                      ["Shift and drag", "look at that part of the time"], ["Ctrl and wheel", "zoom"],
                      ["Shift and wheel", "move in time"], ["double click", "look closer"]];
    for (const [gesture, about] of gestures)
        rows.push(make("tr", {}, make("th", {scope: "row"}, gesture), make("td", {}, about)));
    const dialog = make("dialog", {"aria-label": "Keys of the timeline"});
    dialog.append(make("h3", {}, "Keys of the timeline"),
                  make("table", {class: "plain"}, make("tbody", {}, ...rows)),
                  make("button", {type: "button", onclick: () => { dialog.close(); viewer.current.canvas.focus(); }},
                       "Close"));
    return dialog;
}

// ---- the longest waits ----------------------------------------------------------------------

function buildPlaces(viewer) {
    viewer.places = make("details", {class: "places"});
    return viewer.places;
}

function fillPlaces(viewer) {
    const rows = [];
    for (const panel of viewer.panels)
        panel.timeline.places.forEach((place, number) => {
            const {timeline} = panel, row = timeline.leafRows[place.leaf];
            const button = make("button", {type: "button", onclick: () => showPlace(viewer, panel, number)},
                                timeline.rows.name[row]);
            const cells = [formatTime(timeline.begin + place.begin, 6), formatTime(place.end - place.begin),
                           timeline.activities[place.activity].label, timeline.regionText(place.region)];
            if (viewer.panels.length > 1)
                cells.unshift(timeline.title);
            rows.push(make("tr", {}, make("th", {scope: "row"}, button), ...cells.map((text) => make("td", {}, text))));
        });
    const heads = ["Row", "begins at", "takes", "activity", "in"];
    if (viewer.panels.length > 1)
        heads.splice(1, 0, "run");
    viewer.places.hidden = rows.length === 0;
    viewer.places.replaceChildren(
        make("summary", {}, `The ${rows.length} longest waits`),
        make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "The longest waits"},
             make("table", {class: "plain"},
                  make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", {scope: "col"}, text)))),
                  make("tbody", {}, ...rows))));
}
