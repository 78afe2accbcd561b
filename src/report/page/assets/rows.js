// Which rows of a run are seen, in which order: folded, sorted, pinned.

class Rows {
    constructor(timeline) {
        this.timeline = timeline;
        this.folded = new Set();
        this.pinned = [];
        this.sort = -1; // index in the timeline's sortKeys; -1: in the order of the run
        this.foldToFit(64);
        this.lay();
    }

    foldToFit(most) {
        const {timeline} = this;
        let level = timeline.roots;
        while (level.length) {
            const next = level.flatMap((row) => timeline.children[row]);
            if (next.length > most)
                for (const row of level)
                    if (timeline.children[row].length)
                        this.folded.add(row);
            level = next.length > most ? [] : next;
        }
    }

    ordered(rows) {
        if (this.sort < 0)
            return rows;
        const {valueOf} = this.timeline.sortKeys[this.sort];
        const values = new Map(rows.map((row) => [row, valueOf(row)]));
        return [...rows].sort((one, other) => values.get(other) - values.get(one));
    }

    // Sets `list`, all rows that are seen with their depths, pinned ones first, and `place`: row -> index in `list`.
    lay() {
        const {timeline} = this;
        this.list = this.pinned.map((row) => ({row, depth: 0, pinned: true}));
        const stack = this.ordered(timeline.roots).map((row) => ({row, depth: 0})).reverse();
        while (stack.length) {
            const entry = stack.pop();
            this.list.push(entry);
            if (!this.folded.has(entry.row))
                for (const child of [...this.ordered(timeline.children[entry.row])].reverse())
                    stack.push({row: child, depth: entry.depth + 1});
        }
        this.place = new Map();
        this.list.forEach((entry, index) => {
            if (!entry.pinned || !this.place.has(entry.row))
                this.place.set(entry.row, index);
        });
    }

    fold(row, folded) {
        if (!this.timeline.children[row].length)
            return false;
        this.folded[folded ? "add" : "delete"](row);
        this.lay();
        return true;
    }

    foldAll(folded) {
        this.folded.clear();
        if (folded)
            for (let row = 0; row < this.timeline.count; row++)
                if (this.timeline.children[row].length)
                    this.folded.add(row);
        this.lay();
    }

    pin(row) {
        const at = this.pinned.indexOf(row);
        if (at < 0)
            this.pinned.push(row);
        else
            this.pinned.splice(at, 1);
        this.lay();
        return at < 0;
    }

    sortBy(key) {
        this.sort = key;
        this.lay();
    }

    // Unfolds the rows that a row is in, so that it is seen. Returns its place.
    reveal(row) {
        for (let up = this.timeline.rows.parent[row]; up >= 0; up = this.timeline.rows.parent[up])
            this.folded.delete(up);
        this.lay();
        return this.place.get(row);
    }

    // The place where a leaf is seen: its own, or that of the folded row that it is in.
    placeOfLeaf(leaf) {
        let row = this.timeline.leafRows[leaf];
        while (!this.place.has(row) && this.timeline.rows.parent[row] >= 0)
            row = this.timeline.rows.parent[row];
        return this.place.get(row);
    }
}
