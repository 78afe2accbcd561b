// Matrices and heat maps: a canvas, what a cell says, and the largest cells as a table.

const mostPixels = 1120, largestCell = 24, textHeight = 14;

// `count` floats from bytes in which the lowest bytes of all of them come first, then the second ones, and so on.
function floatsOfPlanes(bytes, count) {
    const together = new Uint8Array(4 * count);
    for (let part = 0; part < 4; part++)
        for (let i = 0; i < count; i++)
            together[4 * i + part] = bytes[part * count + i];
    return new Float32Array(together.buffer);
}

class Matrix {
    constructor(number, meta, palette) {
        Object.assign(this, meta);
        this.number = number;
        this.palette = palette;
        this.height = meta.row_names.length;
        this.width = meta.column_names.length;
        this.values = new Map();
        this.blocks = meta.blocks.map((block, index) => ({layer: block.first, index}));
        this.cell = {row: 0, column: 0};
        this.build();
        this.choose(0);
    }

    build() {
        const options = this.blocks.map(({layer}, i) => make("option", {value: i}, this.layers[layer].label));
        this.select = make("select", {onchange: () => this.choose(Number(this.select.value))}, ...options);
        this.canvas = make("canvas", {tabindex: "0", role: "application", "aria-roledescription": "matrix",
                                      "aria-label": `${this.title}: ${this.row_axis} by ${this.column_axis}. `
                                                    + "Arrow keys move; the largest cells are in the table below."});
        this.rowNames = make("div", {class: "row-names", "aria-hidden": "true"});
        this.columnNames = make("div", {class: "column-names", "aria-hidden": "true"});
        this.readout = make("p", {class: "readout"}, "Point at a cell, or move with the arrow keys.");
        const aloud = make("p", {class: "unseen", role: "status", "aria-live": "polite"});
        this.say = announcer(aloud);
        this.scale = make("p", {class: "scale"});
        this.table = make("details", {});
        this.element = make("div", {class: "matrix"}, make("h3", {}, this.title),
                            make("p", {}, this.about || ""), make("label", {}, "Show ", this.select),
                            make("div", {class: "axes"}, this.rowNames, this.canvas, this.columnNames), this.scale, this.readout, aloud, this.table);
        if (this.left_out.length)
            this.element.append(make("p", {class: "notice"}, "Not on this page, because it would be larger than "
                                     + `--max-size: ${this.left_out.join(", ")}.`));
        listenMoves(this.canvas, (event) => this.point(event));
        this.canvas.addEventListener("keydown", (event) => this.key(event));
        this.canvas.addEventListener("focus", () => this.draw());
    }

    async choose(number) {
        this.chosen = this.blocks[number];
        if (!this.chosen)
            return;
        const {layer, index} = this.chosen;
        if (!this.values.has(layer)) {
            const bytes = await inflate(`matrix-${this.number}-${index}`);
            this.values.set(layer, floatsOfPlanes(bytes, this.width * this.height));
        }
        this.layer = this.layers[layer];
        this.shown = this.values.get(layer);
        this.findRange();
        this.draw();
        this.fillTable();
    }

    // Values that are far apart are coloured by their logarithm, others in proportion, from 0 on.
    findRange() {
        let low = Infinity, high = -Infinity, least = Infinity;
        for (const value of this.shown) {
            if (Number.isNaN(value))
                continue;
            low = Math.min(low, value);
            high = Math.max(high, value);
            if (value > 0)
                least = Math.min(least, value);
        }
        this.logarithmic = least < Infinity && high / least > 1000;
        this.low = this.logarithmic ? least : Math.min(0, low);
        this.high = high;
    }

    shareOf(value) {
        if (this.high <= this.low)
            return 1;
        return this.logarithmic ? Math.log(value / this.low) / Math.log(this.high / this.low)
                                : (value - this.low) / (this.high - this.low);
    }

    // Gives a cell as many whole pixels as there is room for. If there are more cells than pixels, a pixel shows the
    // largest of its cells.
    measure() {
        const beside = this.rowNames.offsetWidth + 10;
        const room = Math.max(200, Math.min(this.element.clientWidth - beside, mostPixels));
        const fit = (count, most) => count * largestCell <= most ? largestCell : Math.floor(most / count);
        let across = fit(this.width, room), down = fit(this.height, mostPixels / 2);
        if (this.width === this.height)
            across = down = Math.min(across, down);
        this.canvas.width = across ? across * this.width : Math.min(room, this.width);
        this.canvas.height = down ? down * this.height : Math.min(mostPixels / 2, this.height);
    }

    // Names all rows if cells are as high as text, else the first and the last row.
    nameAxes() {
        const all = this.canvas.height >= textHeight * this.height;
        if (all === this.namesAll)
            return;
        this.namesAll = all;
        const ends = (names) => names.length > 1 ? [names[0], names[names.length - 1]] : names;
        const spans = (names) => names.map((name) => make("span", {}, name));
        this.rowNames.classList.toggle("all", all);
        this.rowNames.replaceChildren(...spans(all ? this.row_names : ends(this.row_names)));
        this.columnNames.replaceChildren(...spans(ends(this.column_names)));
        this.measure(); // again: the names have another width now
    }

    columnAt(x) {
        return clamp(Math.floor(x * this.width / this.canvas.width), 0, this.width - 1);
    }

    rowAt(y) {
        return clamp(Math.floor(y * this.height / this.canvas.height), 0, this.height - 1);
    }

    draw() {
        if (!this.shown)
            return;
        this.measure();
        this.nameAxes();
        const {canvas} = this, context = canvas.getContext("2d");
        const image = context.createImageData(canvas.width, canvas.height);
        const pixels = new Uint32Array(image.data.buffer);
        for (let y = 0; y < canvas.height; y++) {
            const row = this.rowAt(y), lastRow = Math.max(row, this.rowAt(y + 1) - 1);
            if (y > 0 && row === this.rowAt(y - 1) && row === lastRow) {
                pixels.copyWithin(y * canvas.width, (y - 1) * canvas.width, y * canvas.width);
                continue;
            }
            for (let x = 0; x < canvas.width; x++) {
                const column = this.columnAt(x), last = Math.max(column, this.columnAt(x + 1) - 1);
                pixels[y * canvas.width + x] = this.colourOf(row, lastRow, column, last);
            }
        }
        context.putImageData(image, 0, 0);
        const across = canvas.width / this.width, down = canvas.height / this.height;
        context.strokeStyle = this.palette.accent;
        context.lineWidth = 2;
        context.strokeRect(this.cell.column * across, this.cell.row * down, Math.max(across, 4), Math.max(down, 4));
        this.scale.replaceChildren(...this.scaleText());
    }

    colourOf(row, lastRow, column, lastColumn) {
        let value = NaN;
        for (let y = row; y <= lastRow; y++)
            for (let x = column; x <= lastColumn; x++) {
                const one = this.shown[y * this.width + x];
                if (!(one <= value))
                    value = Number.isNaN(one) ? value : one;
            }
        const none = Number.isNaN(value) || this.logarithmic && value <= 0;
        return none ? this.palette.ground : this.palette.graded(this.shareOf(value));
    }

    scaleText() {
        const bar = make("canvas", {width: "120", height: "12", "aria-hidden": "true"});
        const context = bar.getContext("2d"), image = context.createImageData(120, 12);
        const pixels = new Uint32Array(image.data.buffer);
        for (let i = 0; i < pixels.length; i++)
            pixels[i] = this.palette.graded(i % 120 / 119);
        context.putImageData(image, 0, 0);
        return [`Rows: ${this.row_axis}; columns: ${this.column_axis}. ${formatValue(this.low, this.layer.unit)} `, bar,
                ` ${formatValue(this.high, this.layer.unit)}${this.logarithmic ? ", logarithmic" : ""}; blank: nothing.`];
    }

    point(event) {
        this.move(this.rowAt(event.offsetY), this.columnAt(event.offsetX));
    }

    key(event) {
        const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
        const move = moves[event.key];
        if (!move)
            return;
        event.preventDefault();
        this.move(this.cell.row + move[0], this.cell.column + move[1]);
    }

    move(row, column) {
        const cell = {row: clamp(row, 0, this.height - 1), column: clamp(column, 0, this.width - 1)};
        if (!this.shown || cell.row === this.cell.row && cell.column === this.cell.column && this.told)
            return;
        this.cell = cell;
        this.told = true;
        const value = this.shown[cell.row * this.width + cell.column];
        const text = `${this.row_axis} ${this.row_names[cell.row]}, ${this.column_axis} `
            + `${this.column_names[cell.column]}: ${formatValue(value, this.layer.unit)}`;
        this.readout.textContent = text;
        this.say(text);
        this.draw();
    }

    fillTable() {
        const most = 50, cells = [];
        this.shown.forEach((value, i) => {
            if (value > 0 || value < 0)
                cells.push({value, row: Math.floor(i / this.width), column: i % this.width});
        });
        cells.sort((one, other) => other.value - one.value);
        const rows = cells.slice(0, most).map(({value, row, column}) => make("tr", {},
            make("th", {scope: "row"}, this.row_names[row]), make("td", {class: "words"}, this.column_names[column]),
            make("td", {}, formatValue(value, this.layer.unit))));
        this.table.replaceChildren(
            make("summary", {}, `The ${rows.length} largest of ${cells.length} cells`),
            make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": `Cells of ${this.title}`},
                 make("table", {class: "plain"},
                      make("thead", {}, make("tr", {}, ...[this.row_axis, this.column_axis, this.layer.label].map(
                          (text) => make("th", {scope: "col"}, text)))),
                      make("tbody", {}, ...rows))));
    }
}
