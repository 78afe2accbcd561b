// Panel: one run of the timeline. Its canvas, what is drawn there, and which time and row a point is.

const mostDrawnLeaves = 4096; // drawn from steps in one picture, of all rows that are seen
const gapBand = 0.4; // of the height of a row
const labelWidth = 150, axisHeight = 22, flowHeight = 18, lowestRow = 1, highestRow = 28;

class Panel {
    constructor(viewer, timeline) {
        this.viewer = viewer;
        this.timeline = timeline;
        this.rows = new Rows(timeline);
        this.paints = timeline.activities.map((activity) => activity.paint);
        this.scroll = 0; // in rows
        this.canvas = make("canvas", {
            tabindex: "0", role: "application", "aria-roledescription": "timeline",
            "aria-label": `Timeline of ${timeline.title}: ${timeline.rows.leaf.filter((leaf) => leaf >= 0).length} `
                          + "rows. Arrow keys move, plus and minus zoom, question mark lists all keys."});
        this.element = make("div", {class: "panel"}, make("h3", {}, timeline.title), this.canvas);
        this.drawn = null; // the picture of the rows, over which all else is drawn; null: it must be drawn anew
        this.cursor = {place: 0, time: timeline.length / 2};
        this.room = 0; // the width that there is; 0: it must be measured, for which the browser lays out the page
        new ResizeObserver(() => {
            this.room = 0;
            viewer.redraw();
        }).observe(this.element);
        timeline.arrived = () => this.takeIn();
        if (timeline.messageBlock >= 0)
            timeline.messagesKept();
    }

    // Sets all sizes, in CSS pixels; the canvas has `ratio` times as many pixels.
    measure() {
        this.room = this.room || this.element.clientWidth;
        const width = Math.max(200, this.room);
        const count = Math.max(1, this.rows.list.length);
        const most = this.viewer.panels.length > 1 ? 340 : 560;
        this.ratio = clamp(window.devicePixelRatio || 1, 1, 2);
        this.labels = width < 500 ? 90 : labelWidth;
        this.flow = this.viewer.messages && this.timeline.messageList ? flowHeight : 0;
        this.top = axisHeight + this.flow;
        this.rowHeight = Math.round(clamp(most / count, lowestRow, highestRow) * this.ratio) / this.ratio;
        this.seen = Math.min(count, Math.floor(most / this.rowHeight));
        this.width = width;
        this.plot = width - this.labels;
        this.height = this.top + this.seen * this.rowHeight;
        this.scroll = clamp(Math.round(this.scroll), 0, count - this.seen);
        const pixels = [Math.round(this.width * this.ratio), Math.round(this.height * this.ratio)];
        if (this.canvas.width !== pixels[0] || this.canvas.height !== pixels[1]) {
            [this.canvas.width, this.canvas.height] = pixels;
            this.canvas.style.width = this.width + "px";
            this.canvas.style.height = this.height + "px";
            this.drawn = null;
        }
    }

    get columns() {
        return Math.max(1, Math.round(this.plot * this.ratio));
    }

    timeAt(x) {
        const {view} = this.viewer;
        return view.from + (x - this.labels) / this.plot * (view.to - view.from);
    }

    xOf(time) {
        const {view} = this.viewer;
        return this.labels + (time - view.from) / (view.to - view.from) * this.plot;
    }

    placeAt(y) {
        return clamp(this.scroll + Math.floor((y - this.top) / this.rowHeight), 0, this.rows.list.length - 1);
    }

    yOf(place) {
        return this.top + (place - this.scroll + 0.5) * this.rowHeight;
    }

    invalidate() {
        this.drawn = null;
    }

    // Changes which rows are seen or their order. The cursor stays on its row.
    layRows(change) {
        const {row} = this.rows.list[this.cursor.place];
        change();
        this.cursor.place = this.rows.place.get(row) || 0;
        this.invalidate();
    }

    // Called when data have arrived. They may be what rows are sorted by.
    takeIn() {
        if (this.rows.sort >= 0)
            this.layRows(() => this.rows.lay());
        this.invalidate();
        this.viewer.redraw();
    }

    draw() {
        this.measure();
        const context = this.canvas.getContext("2d");
        const {palette, view} = this.viewer, span = view.to - view.from;
        if (!this.drawn || this.drawn.scroll !== this.scroll || this.drawn.palette !== palette.text
            || this.drawn.width !== this.columns || this.drawn.flow !== this.flow
            || Math.abs(this.drawn.span - span) > 1e-9 * span) // a smaller difference is rounding of a move
            this.drawRows(0, this.columns, true);
        else if (this.drawn.from !== view.from)
            this.moveRows();
        context.setTransform(1, 0, 0, 1, 0, 0);
        context.fillStyle = palette.back;
        context.fillRect(0, 0, this.canvas.width, this.canvas.height);
        context.putImageData(this.drawn.image, Math.round(this.labels * this.ratio), Math.round(this.top * this.ratio));
        context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        this.drawAxis(context);
        this.drawLabels(context);
        this.drawGaps(context);
        if (this.viewer.messages)
            this.drawMessages(context);
        this.drawHits(context);
        this.drawCursor(context);
    }

    // Draws the columns `left` to `right` of all rows that are seen; `anew`: into a new picture.
    drawRows(left, right, anew) {
        const {view, palette} = this.viewer;
        const height = Math.round(this.rowHeight * this.ratio), columns = this.columns;
        if (anew) {
            const context = this.canvas.getContext("2d");
            const image = context.createImageData(columns, Math.max(1, this.seen * height));
            this.drawn = {image, pixels: new Uint32Array(image.data.buffer), width: columns,
                          scroll: this.scroll, palette: palette.text, flow: this.flow,
                          phase: 0};
        }
        const count = this.paints.length, perColumn = (view.to - view.from) / columns;
        const shares = new Float32Array((right - left) * count), part = {
            from: view.from + left * perColumn, to: view.from + right * perColumn};
        const {pixels} = this.drawn, gap = height >= 6 ? 1 : 0;
        const most = Math.min(mostLeaves, Math.ceil(mostDrawnLeaves / this.seen));
        for (let i = 0; i < this.seen; i++) {
            const entry = this.rows.list[this.scroll + i];
            shares.fill(0);
            addShares(this.timeline, entry.row, part, right - left, shares, 1, most);
            paintRow({pixels: pixels.subarray(left), stride: columns, top: i * height, height: height - gap,
                      columns: right - left, phase: this.drawn.phase + left}, shares, this.paints, palette);
            for (let x = gap ? left : right; x < right; x++)
                pixels[((i + 1) * height - 1) * columns + x] = palette.ground;
        }
        Object.assign(this.drawn, {from: view.from, span: view.to - view.from});
    }

    // Moves the picture; after a move by whole columns only the columns that have come into view are drawn.
    moveRows() {
        const {view} = this.viewer, columns = this.columns;
        const moved = (view.from - this.drawn.from) / this.drawn.span * columns;
        const shift = Math.round(moved);
        if (Math.abs(moved - shift) > 1e-3 || Math.abs(shift) >= columns) {
            this.drawRows(0, columns, true);
            return;
        }
        const {pixels, image} = this.drawn;
        this.drawn.phase += shift;
        for (let y = 0; y < image.height; y++) {
            const row = pixels.subarray(y * columns, (y + 1) * columns);
            if (shift > 0)
                row.copyWithin(0, shift);
            else
                row.copyWithin(-shift, 0, columns + shift);
        }
        if (shift > 0)
            this.drawRows(columns - shift, columns, false);
        else
            this.drawRows(0, -shift, false);
    }

    drawAxis(context) {
        const {palette, view} = this.viewer;
        const step = tickStep(view.to - view.from, Math.max(2, this.plot / 110));
        context.font = "12px sans-serif";
        context.fillStyle = palette.faint;
        context.strokeStyle = palette.line;
        context.textAlign = "center";
        context.textBaseline = "middle";
        const origin = this.timeline.begin;
        for (let tick = Math.ceil((view.from + origin) / step) * step; tick <= view.to + origin; tick += step) {
            const x = this.xOf(tick - origin), text = formatTick(tick, step);
            const half = context.measureText(text).width / 2;
            if (x - half >= this.labels - 6 && x + half <= this.width)
                context.fillText(text, x, 8);
            context.beginPath();
            context.moveTo(x, axisHeight - 6);
            context.lineTo(x, axisHeight - 1);
            context.stroke();
        }
        const share = (time) => this.labels + clamp(time / this.viewer.longest, 0, 1) * this.plot;
        context.fillStyle = palette.line;
        context.fillRect(this.labels, axisHeight - 2, this.plot, 2);
        context.fillStyle = palette.accent;
        context.fillRect(share(view.from), axisHeight - 3, Math.max(3, share(view.to) - share(view.from)), 3);
    }

    // The name of a row, without the name of its parent if it begins with that and is shown below it.
    shortName(row, depth) {
        const {name, parent} = this.timeline.rows;
        const above = depth && parent[row] >= 0 ? name[parent[row]] + " " : "";
        return above && name[row].startsWith(above) ? name[row].slice(above.length) : name[row];
    }

    drawLabels(context) {
        const {palette} = this.viewer, every = Math.max(1, Math.ceil(12 / this.rowHeight));
        context.font = `${clamp(this.rowHeight - 3, 9, 12)}px sans-serif`;
        context.textBaseline = "middle";
        context.save();
        context.beginPath();
        context.rect(0, this.top, this.labels - 4, this.height);
        context.clip();
        for (let i = 0; i < this.seen; i += every) {
            const {row, depth, pinned} = this.rows.list[this.scroll + i];
            const marks = this.timeline.children[row].length ? (this.rows.folded.has(row) ? "▸ " : "▾ ") : "";
            context.fillStyle = pinned ? palette.accent : palette.text;
            context.textAlign = "left";
            context.fillText((pinned ? "• " : "") + marks + this.shortName(row, depth), 4 + 10 * depth,
                             this.yOf(this.scroll + i));
        }
        context.restore();
        const fixed = this.rows.pinned.length - this.scroll;
        if (fixed > 0) {
            context.fillStyle = palette.accent;
            context.fillRect(0, this.top + fixed * this.rowHeight - 1, this.width, 1);
        }
    }

    drawMessages(context) {
        const list = this.timeline.messagesKept();
        if (!list)
            return;
        const {palette, view} = this.viewer;
        context.save();
        context.beginPath();
        context.rect(this.labels, axisHeight, this.plot, this.height);
        context.clip();
        const chosen = this.rows.list.length <= mostArrowRows ? messagesIn(list, view, mostArrows) : null;
        this.drawFlow(context, list);
        this.arrows = chosen !== null;
        if (chosen) {
            const leaf = this.timeline.rows.leaf[this.rows.list[this.cursor.place].row];
            const thick = clamp(plainArrows / chosen.length, 0.12, 1);
            context.lineWidth = 1;
            for (const i of chosen) {
                const own = leaf >= 0 && (list.sender[i] === leaf || list.receiver[i] === leaf);
                context.globalAlpha = own ? Math.min(1, 2 * thick) : thick;
                const message = {sender: list.sender[i], sent: list.sent[i], receiver: list.receiver[i],
                                 received: list.received[i]};
                this.drawArrow(context, message, own ? palette.accent : palette.arrow, thick === 1);
            }
        }
        context.restore();
    }

    drawArrow(context, {sender, sent, receiver, received}, colour, head) {
        const from = this.rows.placeOfLeaf(sender), to = this.rows.placeOfLeaf(receiver);
        if (from === undefined || to === undefined || from === to)
            return;
        const x = this.xOf(sent), y = this.yOf(from);
        const endX = this.xOf(received), endY = this.yOf(to);
        context.strokeStyle = context.fillStyle = colour;
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(endX, endY);
        context.stroke();
        if (!head || this.rowHeight < 5)
            return;
        const angle = Math.atan2(endY - y, endX - x);
        context.beginPath();
        context.moveTo(endX, endY);
        context.lineTo(endX - 7 * Math.cos(angle - 0.4), endY - 7 * Math.sin(angle - 0.4));
        context.lineTo(endX - 7 * Math.cos(angle + 0.4), endY - 7 * Math.sin(angle + 0.4));
        context.fill();
    }

    // Draws what an idle device waits for as a band in its row, in the colour of what the host does then, and the
    // submissions that end its gaps as arrows, while there are few.
    drawGaps(context) {
        const {palette, view} = this.viewer, ends = new Map();
        if (this.timeline.gapBlock < 0)
            return;
        context.save();
        context.beginPath();
        context.rect(this.labels, this.top, this.plot, this.height);
        context.clip();
        for (let i = 0; i < this.seen; i++) {
            const leaf = this.timeline.rows.leaf[this.rows.list[this.scroll + i].row];
            const height = Math.max(1, this.rowHeight * gapBand), y = this.yOf(this.scroll + i) - height / 2;
            let drawn = -1;
            for (const gap of leaf >= 0 ? this.timeline.gapsOf(leaf) : []) {
                if (gap.begin > view.to || gap.until < view.from)
                    continue;
                ends.set(leaf + " " + gap.until, {leaf, gap});
                const x = Math.max(drawn, this.xOf(gap.begin)), end = this.xOf(gap.end);
                if (end <= x)
                    continue;
                drawn = Math.max(end, x + 1);
                context.fillStyle = `rgb(${palette.colours[gap.cause.paint].join(" ")})`;
                context.fillRect(x, y, drawn - x, height);
            }
        }
        if (this.viewer.messages && ends.size <= plainArrows)
            for (const {leaf, gap} of ends.values())
                if (gap.submitter >= 0)
                    this.drawArrow(context, {sender: gap.submitter, sent: gap.submitted, receiver: leaf, received: gap.until},
                                   palette.arrow, true);
        context.restore();
    }

    // Draws a band whose height says how many messages are on their way.
    drawFlow(context, list) {
        const {palette, view} = this.viewer, columns = Math.round(this.plot);
        const density = messageDensity(list, view, columns);
        const most = density.reduce((high, value) => Math.max(high, value), 0);
        this.flowMost = most;
        context.fillStyle = palette.arrow;
        for (let column = 0; column < columns && most > 0; column++) {
            const height = density[column] > 0 ? Math.max(1, density[column] / most * (flowHeight - 3)) : 0;
            context.fillRect(this.labels + column, this.top - 1 - height, 1, height);
        }
    }

    // Underlines steps in regions that were found by the search.
    drawHits(context) {
        const {hits, palette, view} = this.viewer, regions = hits && hits.regions.get(this);
        if (!regions || !regions.size)
            return;
        context.fillStyle = palette.accent;
        for (let i = 0; i < this.seen; i++) {
            const leaf = this.timeline.rows.leaf[this.rows.list[this.scroll + i].row];
            if (leaf < 0)
                continue;
            let drawn = -1;
            for (const piece of this.timeline.leafPieces(leaf) || [])
                for (let k = firstAbove(piece.ends, view.from); k < piece.ends.length; k++) {
                    const step = this.timeline.stepOf(piece, k);
                    if (step.begin > view.to)
                        break;
                    const x = Math.max(this.labels, this.xOf(step.begin)), end = this.xOf(step.end);
                    if (!regions.has(step.region) || end < drawn)
                        continue;
                    drawn = Math.max(end, x + 1);
                    context.fillRect(x, this.yOf(this.scroll + i) + this.rowHeight / 2 - 3, drawn - x, 2);
                }
        }
    }

    drawCursor(context) {
        const {palette} = this.viewer, x = this.xOf(this.cursor.time);
        const y = this.yOf(this.cursor.place) - this.rowHeight / 2;
        context.strokeStyle = palette.accent;
        context.lineWidth = this.viewer.current === this ? 2 : 1;
        if (x >= this.labels && x <= this.width) {
            context.beginPath();
            context.moveTo(x, axisHeight);
            context.lineTo(x, this.height);
            context.stroke();
        }
        if (this.viewer.current === this && y >= this.top - 1 && y < this.height)
            context.strokeRect(1, y, this.width - 2, Math.max(3, this.rowHeight));
    }

    // What the cursor is on, as a sentence.
    describe() {
        const {timeline} = this, {row} = this.rows.list[this.cursor.place];
        const perColumn = (this.viewer.view.to - this.viewer.view.from) / this.columns;
        const column = Math.floor((this.cursor.time - this.viewer.view.from) / perColumn);
        const from = this.viewer.view.from + column * perColumn, leaf = timeline.rows.leaf[row];
        const shares = sharesBetween(timeline, row, from, from + perColumn);
        const parts = [...shares].map((share, activity) => ({share, activity})).filter(({share}) => share > 0.0005)
            .sort((one, other) => other.share - one.share)
            .map(({share, activity}) => `${timeline.activities[activity].label} ${formatShare(Math.min(1, share))}`);
        const sentences = [`${timeline.rows.name[row]} at ${formatTime(timeline.begin + this.cursor.time, 6)}`,
                           parts.join(", ") || "nothing"];
        const step = leaf >= 0 ? timeline.stepAt(leaf, this.cursor.time) : null;
        if (step && step.end - step.begin >= perColumn) {
            const region = timeline.regionText(step.region);
            sentences.push(`one step of ${formatTime(step.end - step.begin)}${region ? " in " + region : ""}`);
            sentences.push(...this.describeMessage(leaf, step));
        } else if (leaf >= 0 && !step && timeline.length / 2 ** (this.timeline.cells.get(row) || {level: 0}).level > perColumn) {
            sentences.push("single steps are not on this page here");
        }
        if (leaf >= 0)
            sentences.push(...this.describeGap(leaf, perColumn));
        return [...sentences, ...this.describeCounts(row)].join("; ") + ".";
    }

    // What the device of a leaf waits for where the cursor is.
    describeGap(leaf, perColumn) {
        const {timeline} = this, at = this.cursor.time;
        const gap = timeline.gapsOf(leaf).find(({begin, end}) => begin <= at && at < Math.max(end, begin + perColumn));
        if (!gap)
            return [];
        const region = timeline.regionText(gap.region), next = region ? ` before ${region}` : "";
        const by = gap.submitter >= 0 ? `, which ${timeline.rows.name[timeline.leafRows[gap.submitter]]} submits at `
            + formatTime(timeline.begin + gap.submitted, 6) : "";
        return [`the device is idle for ${formatTime(gap.end - gap.begin)}${next}${by}: ${gap.cause.label}`];
    }

    // What was counted in the 1/64 of the run where the cursor is. The frequency is told only if enough of this time
    // is useful: shares are rounded.
    describeCounts(row) {
        const {timeline} = this, perBin = timeline.length / countBins;
        const bin = clamp(Math.floor(this.cursor.time / perBin), 0, countBins - 1);
        const counts = timeline.countsIn(row, bin);
        if (!counts || !counts.some((count) => count > 0))
            return [];
        const parts = timeline.counters.map(({label}, i) =>
            formatValue(counts[i], " " + label).replace("  ", " "));
        const of = (id) => counts[timeline.counters.findIndex((counter) => counter.id === id)] || 0;
        if (of("instructions") > 0 && of("cycles") > 0)
            parts.push(`${(of("instructions") / of("cycles")).toFixed(2)} per cycle`);
        const useful = timeline.activities.findIndex(({paint}) => paint === 0);
        const share = useful < 0 ? 0 : sharesBetween(timeline, row, bin * perBin, (bin + 1) * perBin)[useful];
        if (of("cycles") > 0 && share > 0.2)
            parts.push(`${(of("cycles") / (share * perBin * timeline.rows.leaves[row])).toPrecision(2)} GHz`);
        return [`in useful time of this 1/64 of the run: ${parts.join(", ")}`];
    }

    describeMessage(leaf, step) {
        const list = this.timeline.messagesKept();
        if (!list)
            return [];
        const found = [], name = (other) => this.timeline.rows.name[this.timeline.leafRows[other]];
        const received = lastReceived(list, leaf, step.begin, step.end);
        if (received >= 0)
            found.push(`a message of ${formatValue(list.bytes[received], "B")} from ${name(list.sender[received])} `
                       + `was received, tag ${list.tag[received]}`);
        for (let i = firstAbove(list.sent, step.begin - 1e-9); i < list.count && list.sent[i] < step.end; i++)
            if (list.sender[i] === leaf) {
                found.push(`a message of ${formatValue(list.bytes[i], "B")} to ${name(list.receiver[i])} was sent, `
                           + `tag ${list.tag[i]}`);
                break;
            }
        return found;
    }
}
