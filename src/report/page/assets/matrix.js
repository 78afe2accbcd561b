// Matrices and heat maps: a canvas, what a cell says, and the largest cells as a table.

const mostCells = 900; // pixels of a matrix, at most, in each direction

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
        this.readout = make("p", {class: "readout"}, this.about || "");
        const aloud = make("p", {class: "unseen", role: "status", "aria-live": "polite"});
        this.say = announcer(aloud);
        this.scale = make("p", {class: "scale"});
        this.table = make("details", {});
        this.element = make("div", {class: "matrix"}, make("h3", {}, this.title),
                            make("p", {}, this.about || ""), make("label", {}, "Show ", this.select), this.canvas,
                            this.scale, this.readout, aloud, this.table);
        this.canvas.addEventListener("pointermove", (event) => this.point(event));
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
            this.values.set(layer, new Float32Array(bytes.buffer, bytes.byteOffset, this.width * this.height));
        }
        this.layer = this.layers[layer];
        this.shown = this.values.get(layer);
        this.findRange();
        this.draw();
        this.fillTable();
    }

    // Far apart values are coloured by their logarithm.
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
        this.low = this.logarithmic ? least : Math.min(low, high);
        this.high = high;
    }

    shareOf(value) {
        if (this.high <= this.low)
            return 1;
        return this.logarithmic ? Math.log(value / this.low) / Math.log(this.high / this.low)
                                : (value - this.low) / (this.high - this.low);
    }

    // Where several cells fall into one pixel the largest is shown.
    draw() {
        if (!this.shown)
            return;
        const room = Math.max(200, Math.min(this.element.clientWidth, mostCells));
        const size = Math.max(1, Math.floor(Math.min(room / this.width, 560 / this.height, 28)));
        const join = Math.max(1, Math.ceil(Math.max(this.width / room, this.height / mostCells)));
        this.size = size;
        this.join = join;
        const columns = Math.ceil(this.width / join), rows = Math.ceil(this.height / join);
        this.canvas.width = columns * size;
        this.canvas.height = rows * size;
        const context = this.canvas.getContext("2d");
        const image = context.createImageData(this.canvas.width, this.canvas.height);
        const pixels = new Uint32Array(image.data.buffer);
        for (let row = 0; row < rows; row++)
            for (let column = 0; column < columns; column++)
                this.paintCell(pixels, row, column);
        context.putImageData(image, 0, 0);
        context.strokeStyle = this.palette.accent;
        context.lineWidth = 2;
        context.strokeRect(Math.floor(this.cell.column / join) * size, Math.floor(this.cell.row / join) * size,
                           Math.max(size, 3), Math.max(size, 3));
        this.scale.replaceChildren(...this.scaleText());
    }

    paintCell(pixels, row, column) {
        const {size, join} = this;
        let value = NaN;
        for (let y = row * join; y < Math.min((row + 1) * join, this.height); y++)
            for (let x = column * join; x < Math.min((column + 1) * join, this.width); x++) {
                const one = this.shown[y * this.width + x];
                if (!(one <= value))
                    value = Number.isNaN(one) ? value : one;
            }
        const none = Number.isNaN(value) || this.logarithmic && value <= 0;
        const colour = none ? this.palette.ground : this.palette.graded(this.shareOf(value));
        for (let y = 0; y < size; y++)
            for (let x = 0; x < size; x++)
                pixels[(row * size + y) * this.canvas.width + column * size + x] = colour;
    }

    scaleText() {
        const bar = make("canvas", {width: "120", height: "12", "aria-hidden": "true"});
        const context = bar.getContext("2d"), image = context.createImageData(120, 12);
        const pixels = new Uint32Array(image.data.buffer);
        for (let i = 0; i < pixels.length; i++)
            pixels[i] = this.palette.graded(i % 120 / 119);
        context.putImageData(image, 0, 0);
        return [`Rows: ${this.row_axis}; columns: ${this.column_axis}. ${formatValue(this.low, this.layer.unit)} `, bar,
                ` ${formatValue(this.high, this.layer.unit)}${this.logarithmic ? ", logarithmic" : ""}; nothing is blank.`];
    }

    point(event) {
        this.move(Math.floor(event.offsetY / this.size) * this.join, Math.floor(event.offsetX / this.size) * this.join);
    }

    key(event) {
        const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
        const move = moves[event.key];
        if (!move)
            return;
        event.preventDefault();
        this.move(this.cell.row + move[0] * this.join, this.cell.column + move[1] * this.join);
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
