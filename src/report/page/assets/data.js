// The data of the page: deflated blocks that are inflated when they are needed.
// docs/formats/report.md describes the bytes.

async function inflate(id) {
    const element = byId(id);
    const text = element.textContent;
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function readMeta(id) {
    return JSON.parse(new TextDecoder().decode(await inflate(id)));
}

// Numbers with seven bits in each byte, the low bits first; the top bit says that a byte follows.
class Varints {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }
    get done() {
        return this.at >= this.bytes.length;
    }
    byte() {
        return this.bytes[this.at++];
    }
    number() {
        let value = 0, factor = 1;
        for (;;) {
            const byte = this.bytes[this.at++];
            value += (byte & 127) * factor;
            if (byte < 128)
                return value;
            factor *= 128;
        }
    }
    signed() {
        const value = this.number();
        return value % 2 ? -(value + 1) / 2 : value / 2;
    }
}

const countBins = 64, mostCountedLeaves = 4096;

// One run. Times are ns from the begin of its axis.
class Timeline {
    constructor(number, meta) {
        Object.assign(this, meta);
        this.number = number;
        this.length = meta.end - meta.begin;
        this.count = meta.rows.name.length;
        this.children = Array.from({length: this.count}, () => []);
        this.roots = [];
        this.leafRows = [];
        for (let row = 0; row < this.count; row++) {
            const parent = meta.rows.parent[row];
            (parent < 0 ? this.roots : this.children[parent]).push(row);
            if (meta.rows.leaf[row] >= 0)
                this.leafRows[meta.rows.leaf[row]] = row;
        }
        this.regionNames = new Map(meta.regions.map(([index, name, site]) => [index, {name, site}]));
        this.tiles = new Map(); // row -> the deepest block that has its cells
        this.stepBlocks = [];
        this.countBlocks = [];
        this.messageBlock = -1;
        this.gapBlock = -1;
        meta.blocks.forEach((block, index) => this.addBlock(block, index));
        this.findStepped();
        this.loading = new Map();
        this.cells = new Map(); // row -> {level, planes}
        this.steps = [];        // leaf -> pieces
        this.counts = [];       // leaf -> counters x 64 bins
        this.arrived = () => {};
        this.sortKeys = this.makeSortKeys();
    }

    // What rows can be sorted by: {id, label, valueOf(row)}. The largest value comes first, and an unknown one last.
    makeSortKeys() {
        const keys = this.activities.map(({id, label}, i) => (
            {id, label: "most " + label, valueOf: (row) => (this.totals(row) || [])[i] || 0}));
        const place = (id) => this.counters.findIndex((counter) => counter.id === id);
        const count = (row, i) => (this.countsOf(row) || [])[i] || 0;
        const ratio = (above, below) => below > 0 ? above / below : 0;
        const instructions = place("instructions"), cycles = place("cycles");
        const useful = this.activities.findIndex(({paint}) => paint === 0);
        this.counters.forEach(({id, label}, i) =>
            keys.push({id, label: "most " + label, valueOf: (row) => ratio(count(row, i), this.rows.leaves[row])}));
        if (instructions >= 0 && cycles >= 0)
            keys.push({id: "ipc", label: "most instructions per cycle",
                       valueOf: (row) => ratio(count(row, instructions), count(row, cycles))});
        if (cycles >= 0 && useful >= 0)
            keys.push({id: "frequency", label: "highest frequency",
                       valueOf: (row) => ratio(count(row, cycles), keys[useful].valueOf(row) * this.rows.leaves[row])});
        return keys;
    }

    // Finds the rows that are drawn from steps: leaves, and rows all of whose leaves have their steps on the page from
    // begin to end. Where only pieces of the leaves are known, the row's own cells are finer than those of its leaves.
    // Children have higher numbers than their parents.
    findStepped() {
        this.stepBlockOf = [];
        for (const block of this.stepBlocks)
            for (let leaf = block.first; leaf < block.first + block.count; leaf++)
                this.stepBlockOf[leaf] = block;
        this.stepped = new Uint8Array(this.count);
        for (let row = this.count - 1; row >= 0; row--) {
            const leaf = this.rows.leaf[row];
            this.stepped[row] = leaf >= 0 ? this.stepBlockOf[leaf] !== undefined
                                          : this.all_steps && this.children[row].every((child) => this.stepped[child]);
        }
    }

    addBlock(block, index) {
        block.index = index;
        if (block.kind === "messages")
            this.messageBlock = index;
        else if (block.kind === "gaps")
            this.gapBlock = index;
        else if (block.kind === "steps")
            this.stepBlocks.push(block);
        else if (block.kind === "counts")
            this.countBlocks.push(block);
        else
            block.rows.forEach((row, place) => {
                const known = this.tiles.get(row);
                if (!known || known.block.level < block.level)
                    this.tiles.set(row, {block, place});
            });
    }

    // Loads a block, if that was not done before; `use` gets its bytes.
    load(index, use) {
        if (!this.loading.has(index))
            this.loading.set(index, inflate(`timeline-${this.number}-${index}`).then((bytes) => {
                use(bytes);
                this.arrived();
            }));
        return this.loading.get(index);
    }

    unpackTile(block, bytes) {
        const bins = 2 ** block.level, mask = bytes[0] | bytes[1] << 8, cells = bins * block.rows.length;
        let plane = 2;
        const planes = [];
        for (let activity = 0; activity < this.activities.length; activity++)
            if (mask >> activity & 1) {
                planes.push([activity, plane]);
                plane += cells;
            }
        for (const [, begin] of planes.slice(1)) // the first plane holds the sums of all planes
            for (let cell = 0; cell < cells; cell++)
                bytes[planes[0][1] + cell] -= bytes[begin + cell];
        block.rows.forEach((row, place) => {
            if (this.tiles.get(row).block !== block)
                return;
            const own = [];
            for (const [activity, begin] of planes) {
                const values = bytes.subarray(begin + place * bins, begin + (place + 1) * bins);
                if (values.some((value) => value > 0))
                    own.push({activity, values});
            }
            this.cells.set(row, {level: block.level, planes: own});
        });
    }

    // The cells of a row; null while they are on their way.
    rowCells(row) {
        const known = this.cells.get(row);
        if (known !== undefined)
            return known;
        const tile = this.tiles.get(row);
        if (tile) {
            this.load(tile.block.index, (bytes) => this.unpackTile(tile.block, bytes));
            return null;
        }
        return this.sumOfChildren(row);
    }

    // The cells of a row that has no tile: the mean of its children, weighted by their numbers of leaves.
    sumOfChildren(row) {
        const children = this.children[row];
        const parts = children.map((child) => this.rowCells(child));
        if (parts.includes(null))
            return null;
        const level = Math.min(...parts.map((part) => part.level));
        const bins = 2 ** level, planes = new Map();
        parts.forEach((part, i) => {
            const weight = this.rows.leaves[children[i]] / this.rows.leaves[row] / 2 ** (part.level - level);
            for (const {activity, values} of part.planes) {
                if (!planes.has(activity))
                    planes.set(activity, new Float32Array(bins));
                const sum = planes.get(activity), shift = part.level - level;
                for (let bin = 0; bin < values.length; bin++)
                    sum[bin >> shift] += weight * values[bin];
            }
        });
        const cells = {level: children.length ? level : 0,
                       planes: [...planes].map(([activity, values]) => ({activity, values}))};
        this.cells.set(row, cells);
        return cells;
    }

    // Which share of the whole run a row spends on each activity; null while its cells are on their way.
    totals(row) {
        const cells = this.rowCells(row);
        if (!cells)
            return null;
        const totals = new Float64Array(this.activities.length);
        let all = 0;
        for (const {activity, values} of cells.planes)
            for (let bin = 0; bin < values.length; bin++) {
                totals[activity] += values[bin];
                all += values[bin];
            }
        return all > 0 ? totals.map((value) => value / all) : totals;
    }

    unpackSteps(block, bytes) {
        const numbers = new Varints(bytes);
        for (let leaf = block.first; leaf < block.first + block.count; leaf++) {
            const pieces = [];
            for (let n = numbers.number(); n > 0; n--) {
                const begin = numbers.number(), count = numbers.number();
                const piece = {begin, ends: new Float64Array(count), activities: new Uint8Array(count),
                               regions: new Int32Array(count)};
                let at = begin;
                for (let i = 0; i < count; i++) {
                    at += numbers.number();
                    piece.ends[i] = at;
                    piece.activities[i] = numbers.byte();
                    piece.regions[i] = numbers.number() - 1;
                }
                piece.end = at;
                pieces.push(piece);
            }
            this.steps[leaf] = pieces;
        }
    }

    // The pieces of time of which all steps of a leaf are known; null while they are on their way.
    leafPieces(leaf) {
        if (this.steps[leaf])
            return this.steps[leaf];
        const block = this.stepBlockOf[leaf];
        if (!block) {
            this.steps[leaf] = [];
            return this.steps[leaf];
        }
        this.load(block.index, (bytes) => this.unpackSteps(block, bytes));
        return null;
    }

    loadAllSteps() {
        return Promise.all(this.stepBlocks.map(
            (block) => this.load(block.index, (bytes) => this.unpackSteps(block, bytes))));
    }

    unpackMessages(bytes) {
        const numbers = new Varints(bytes), count = numbers.number();
        const list = {count, sent: new Float64Array(count), received: new Float64Array(count),
                      sender: new Uint32Array(count), receiver: new Uint32Array(count),
                      bytes: new Float64Array(count), tag: new Int32Array(count)};
        let at = 0;
        for (let i = 0; i < count; i++) {
            at += numbers.number();
            list.sent[i] = at;
            list.received[i] = at + numbers.signed();
            list.sender[i] = numbers.number();
            list.receiver[i] = numbers.number();
            list.bytes[i] = numbers.number();
            list.tag[i] = numbers.signed();
        }
        this.messageList = list;
    }

    // All messages, by the time of sending; null while they are on their way, or if none are kept.
    messagesKept() {
        if (this.messageBlock >= 0 && !this.messageList)
            this.load(this.messageBlock, (bytes) => this.unpackMessages(bytes));
        return this.messageList || null;
    }

    unpackGaps(bytes) {
        const numbers = new Varints(bytes);
        this.gaps = new Map();
        let begin = 0;
        for (let n = numbers.number(); n > 0; n--) {
            begin += numbers.number();
            const end = begin + numbers.number(), until = end + numbers.number();
            const submitted = until - numbers.signed(), leaf = numbers.number();
            const gap = {begin, end, until, submitted, submitter: numbers.number() - 1, region: numbers.number() - 1,
                         cause: this.causes[numbers.number()]};
            if (!this.gaps.has(leaf))
                this.gaps.set(leaf, []);
            this.gaps.get(leaf).push(gap);
        }
    }

    // The stretches in which the device of a leaf ran nothing before the leaf's operations, by their begins; empty while
    // they are on their way, or if there are none.
    gapsOf(leaf) {
        if (this.gapBlock >= 0 && !this.gaps)
            this.load(this.gapBlock, (bytes) => this.unpackGaps(bytes));
        return this.gaps && this.gaps.get(leaf) || [];
    }

    unpackCounts(block, bytes) {
        const values = new Float32Array(bytes.buffer), width = countBins * this.counters.length;
        for (let i = 0; i < block.count; i++)
            this.counts[block.first + i] = values.subarray(i * width, (i + 1) * width);
    }

    // What each counter counted in a row's useful time in one of the 64 bins; null if it is not known, or not yet.
    countsIn(row, bin) {
        const sums = new Float64Array(this.counters.length);
        return this.counters.length && this.rows.leaves[row] <= mostCountedLeaves && this.addCounts(row, bin, sums)
            ? sums : null;
    }

    // What each counter counted in a row's useful time in the whole run; null if it is not known, or not yet.
    countsOf(row) {
        const sums = new Float64Array(this.counters.length);
        for (let bin = 0; bin < countBins; bin++) {
            const part = this.countsIn(row, bin);
            if (!part)
                return null;
            part.forEach((value, i) => { sums[i] += value; });
        }
        return sums;
    }

    addCounts(row, bin, sums) {
        const leaf = this.rows.leaf[row];
        if (leaf < 0)
            return this.children[row].reduce((all, child) => this.addCounts(child, bin, sums) && all, true);
        if (!this.counts[leaf]) {
            const block = this.countBlocks.find(({first, count}) => leaf >= first && leaf < first + count);
            if (block)
                this.load(block.index, (bytes) => this.unpackCounts(block, bytes));
            return false;
        }
        for (let i = 0; i < sums.length; i++)
            sums[i] += this.counts[leaf][i * countBins + bin];
        return true;
    }

    // The step of a leaf at a time: {piece, index, begin, end, activity, region}, or null.
    stepAt(leaf, time) {
        for (const piece of this.leafPieces(leaf) || []) {
            if (time < piece.begin || time >= piece.end)
                continue;
            const index = firstAbove(piece.ends, time);
            return this.stepOf(piece, index);
        }
        return null;
    }

    stepOf(piece, index) {
        return {piece, index, begin: index ? piece.ends[index - 1] : piece.begin, end: piece.ends[index],
                activity: piece.activities[index], region: piece.regions[index]};
    }

    regionText(region) {
        const known = this.regionNames.get(region);
        if (!known)
            return "";
        return known.site ? `${known.name}, ${known.site}` : known.name;
    }
}

// The index of the first number above `value`, of numbers that rise.
function firstAbove(numbers, value) {
    let low = 0, high = numbers.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (numbers[middle] > value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
