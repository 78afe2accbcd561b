// Viewer: the timeline as a whole, with one or two runs, the part of the time that is seen, and the toolbar.

class Viewer {
    constructor(section, timelines, palette) {
        this.section = section;
        this.timelines = timelines;
        this.palette = palette;
        this.messages = true;
        this.hits = null;
        this.view = {from: 0, to: 1};
        this.changed = () => {};
        this.build();
        const last = timelines.length - 1;
        this.show(timelines.length === 2 ? [0, 1] : [last]);
    }

    build() {
        this.readout = make("p", {class: "readout"}, "Point at a row, or move with the arrow keys.");
        this.aloud = make("p", {class: "unseen", role: "status", "aria-live": "polite"});
        this.say = announcer(this.aloud);
        this.rest = settled(() => { this.dragged = false; this.redraw(); }, 150);
        this.holder = make("div", {class: "panels"});
        this.command = make("p", {class: "command"});
        this.notice = make("p", {class: "notice"});
        this.section.append(this.buildChoice(), this.buildToolbar(), this.buildLegend(), this.holder, this.readout,
                            this.aloud, this.notice, this.command, buildPlaces(this));
        this.help = buildHelp(this);
        this.section.append(this.help);
        window.addEventListener("resize", () => this.redraw());
        this.palette.users.push(() => {
            this.fillLegend();
            this.panels.forEach((panel) => panel.invalidate());
            this.draw();
        });
    }

    // Makes the lists that choose which runs are seen, if there are several.
    buildChoice() {
        const choice = make("p", {class: "choice"});
        this.choices = [];
        if (this.timelines.length < 2)
            return choice;
        for (const label of ["Run", "above"]) {
            const select = make("select", {onchange: () => this.choose()});
            if (label === "above")
                select.append(make("option", {value: "-1"}, "no other run"));
            this.timelines.forEach((timeline, i) => select.append(make("option", {value: i}, timeline.title)));
            this.choices.push(select);
            choice.append(make("label", {}, label + " ", select), " ");
        }
        return choice;
    }

    choose() {
        const [first, second] = this.choices.map((select) => Number(select.value));
        this.show(second < 0 || second === first ? [first] : [first, second]);
    }

    show(numbers) {
        this.numbers = numbers;
        this.choices.forEach((select, i) => { select.value = i < numbers.length ? numbers[i] : -1; });
        this.panels = numbers.map((number) => new Panel(this, this.timelines[number]));
        this.holder.replaceChildren(...this.panels.map((panel) => panel.element));
        this.current = this.panels[0];
        this.longest = Math.max(...this.panels.map((panel) => panel.timeline.length));
        this.panels.forEach((panel) => {
            panel.cursor.time = Math.min(this.longest / 2, panel.timeline.length);
            listen(this, panel);
        });
        this.fillSorts();
        this.fillLegend();
        fillPlaces(this);
        this.whole();
    }

    buildToolbar() {
        const bar = make("div", {class: "toolbar", role: "toolbar", "aria-label": "Timeline"});
        for (const action of actions.filter((one) => one.button))
            bar.append(make("button", {type: "button", title: action.about, "aria-keyshortcuts": action.keys[0],
                                       onclick: () => { action.run(this); this.redraw(); }}, action.button));
        this.sorts = make("select", {onchange: () => this.sortBy(Number(this.sorts.value))});
        this.query = make("input", {type: "search", size: "16", placeholder: "rank, region, file",
                                    oninput: settled(() => search(this, this.query.value), 200),
                                    onkeydown: (event) => {
                                        if (event.key === "Enter")
                                            nextHit(this, event.shiftKey ? -1 : 1);
                                    }});
        this.found = make("span", {class: "found", role: "status"});
        bar.append(make("label", {}, "Sort rows by ", this.sorts), make("label", {}, "Find ", this.query), this.found);
        return bar;
    }

    fillSorts() {
        const options = [make("option", {value: -1}, "place in the run")];
        this.sortKeys.forEach(({label}, i) => options.push(make("option", {value: i}, label)));
        this.sorts.replaceChildren(...options);
    }

    buildLegend() {
        this.legend = make("ul", {class: "legend", "aria-label": "Activities"});
        return this.legend;
    }

    // Shows each activity, and each cause of a device's gaps, that one of the runs has, once.
    fillLegend() {
        const known = new Map(), causes = new Map();
        for (const panel of this.panels) {
            for (const activity of panel.timeline.activities)
                known.set(activity.id, activity);
            for (const cause of panel.timeline.causes)
                causes.set(cause.label, cause);
        }
        this.legend.replaceChildren(
            ...[...known.values()].map((activity) =>
                make("li", {}, swatch(this.palette, activity.paint), activity.label)),
            ...[...causes.values()].map((cause) =>
                make("li", {}, bandKey(cause.paint), "device idle: " + cause.label)));
    }

    redraw() {
        if (!this.pending)
            this.pending = requestAnimationFrame(() => this.draw());
    }

    // Draws all runs. While the picture is dragged, the texts below it are not written; they wait until it rests.
    draw() {
        this.pending = 0;
        for (const panel of this.panels)
            panel.draw();
        if (this.dragged) {
            this.rest();
            return;
        }
        this.tell();
        this.changed();
    }

    tell() {
        const {timeline} = this.current, {view} = this;
        const text = this.current.describe();
        if (text !== this.readout.textContent) {
            this.readout.textContent = text;
            this.say(text);
        }
        const at = (time) => formatSeconds(timeline.begin + clamp(Math.round(time), 0, timeline.length));
        const code = make("code", {}, `${timeline.command} ${at(view.from)}:${at(view.to)}`);
        this.command.replaceChildren("A closer look at this part of the time: ", code);
        this.notice.textContent = this.notices().join(" ");
    }

    notices() {
        const notices = [];
        for (const {timeline, arrows} of this.panels) {
            const add = (text) => notices.push((this.panels.length > 1 ? timeline.title + ": " : "") + text);
            if (timeline.left_out.length)
                add(`Not on this page, because it would be larger than --max-size: ${timeline.left_out.join(", ")}.`);
            if (!timeline.all_steps && timeline.stepBlocks.length)
                add("Single steps are kept around the longest waits only.");
            if (!timeline.all_messages)
                add("The run has too many messages to keep each.");
            else if (this.messages && timeline.messageList && arrows === false)
                add("Too many messages or rows for arrows: zoom in or fold rows; the band above the rows is how many "
                    + "are on their way.");
        }
        return notices;
    }

    // Sets which part of the time is seen, within the runs.
    setView(from, to) {
        const least = Math.min(this.longest, 20), span = clamp(to - from, least, this.longest);
        const begin = clamp(from, 0, this.longest - span);
        this.view = {from: begin, to: begin + span};
        this.redraw();
    }

    whole() {
        this.setView(0, this.longest);
    }

    zoom(factor, time = this.current.cursor.time) {
        const {from, to} = this.view, anchor = clamp(time, from, to);
        this.setView(anchor - (anchor - from) / factor, anchor + (to - anchor) / factor);
    }

    // Moves in time by a share of what is seen.
    pan(share) {
        this.panColumns(Math.round(share * this.current.columns));
    }

    panColumns(columns) {
        const {from, to} = this.view, moved = columns * (to - from) / this.current.columns;
        if (from + moved < 0 || to + moved > this.longest)
            this.setView(from + moved, to + moved);
        else
            this.view = {from: from + moved, to: to + moved};
        this.redraw();
    }

    // Moves the cursor to a place of a run, and the cursors of all runs to the same time.
    moveCursor(panel, place, time) {
        this.current = panel;
        panel.cursor.place = clamp(place, 0, panel.rows.list.length - 1);
        for (const each of this.panels)
            each.cursor.time = clamp(time, 0, each.timeline.length);
        this.redraw();
    }

    // Moves the cursor to a row and a time, and the view so that the cursor is seen; `span`: how long the view is.
    goTo(panel, row, time, span = 0) {
        const place = panel.rows.reveal(row);
        panel.invalidate();
        panel.measure();
        if (place < panel.scroll || place >= panel.scroll + panel.seen)
            panel.scroll = place - Math.floor(panel.seen / 2);
        this.moveCursor(panel, place, time);
        const {from, to} = this.view;
        if (span)
            this.setView(time - span / 2, time + span / 2);
        else if (time < from || time > to)
            this.setView(time - (to - from) / 2, time + (to - from) / 2);
    }

    // The keys of the first run that is seen; a second run is sorted by its own key of the same name.
    get sortKeys() {
        return this.panels[0].timeline.sortKeys;
    }

    sortBy(key) {
        const {id} = this.sortKeys[key] || {};
        for (const panel of this.panels) {
            panel.layRows(() => panel.rows.sortBy(panel.timeline.sortKeys.findIndex((one) => one.id === id)));
            panel.scroll = 0;
        }
        this.sorts.value = key;
        this.redraw();
    }

    changeRows(change) {
        const panel = this.current, {row} = panel.rows.list[panel.cursor.place];
        change(panel.rows, row);
        panel.invalidate();
        for (let up = row; up >= 0; up = panel.timeline.rows.parent[up])
            if (panel.rows.place.has(up)) {
                panel.cursor.place = panel.rows.place.get(up);
                break;
            }
        panel.cursor.place = clamp(panel.cursor.place, 0, panel.rows.list.length - 1);
        this.redraw();
    }
}

// A small band in the colour of an activity.
function bandKey(paint) {
    const key = make("span", {class: "band", "aria-hidden": "true"});
    key.style.background = `var(--paint${paint})`;
    return key;
}

// A small square in the colour and hatching of an activity.
function swatch(palette, paint) {
    const canvas = make("canvas", {width: "16", height: "16", class: "swatch", "aria-hidden": "true"});
    const context = canvas.getContext("2d"), image = context.createImageData(16, 16);
    const pixels = new Uint32Array(image.data.buffer), pattern = palette.patterns[paint];
    for (let i = 0; i < 256; i++)
        pixels[i] = pattern[(i >> 4 & 7) << 3 | i & 7];
    context.putImageData(image, 0, 0);
    return canvas;
}
