// Colours and hatchings of the kinds of activities (enum lull_picture_paint), as pixels.

const paintCount = 12;

// By paint, which pixels of a square of 8 x 8 are hatched; paints that are not listed are plain (useful, idle ...).
const hatchings = {
    1: (x, y) => (x + y) % 8 === 7,
    2: (x, y) => x === y,
    3: (x) => x === 4,
    4: (x, y) => x === y || x + y === 7,
    5: (x, y) => y === 4,
    6: (x, y) => x === 4 || y === 4,
    8: (x, y) => x % 4 === 2 && y % 4 === 2,
    9: (x, y) => y % 4 === 2,
    10: (x) => x % 4 === 2,
};

// The colours that the style sheet has now: light, dark, or for print, which is light. When they change, each of
// `users` is called, and must draw at once.
class Palette {
    constructor() {
        this.users = [];
        this.read();
        const again = () => {
            this.read();
            this.users.forEach((user) => user());
        };
        const printing = (yes) => {
            document.documentElement.classList.toggle("printing", yes);
            again();
        };
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
        window.addEventListener("beforeprint", () => printing(true));
        window.addEventListener("afterprint", () => printing(false));
    }
    read() {
        const style = getComputedStyle(document.documentElement);
        const get = (name) => style.getPropertyValue(name).trim();
        this.text = get("--text");
        this.faint = get("--faint");
        this.back = get("--back");
        this.line = get("--line");
        this.accent = get("--accent");
        this.arrow = get("--arrow");
        const hatch = channels(get("--hatch"));
        this.colours = [];
        this.patterns = [];
        for (let paint = 0; paint < paintCount; paint++) {
            const colour = channels(get("--paint" + paint)), hatched = hatchings[paint];
            const pattern = new Uint32Array(64), dark = mix(colour, hatch, 0.45);
            for (let i = 0; i < 64; i++)
                pattern[i] = pack(hatched && hatched(i & 7, i >> 3) ? dark : colour);
            this.colours.push(colour);
            this.patterns.push(pattern);
        }
        this.ground = pack(channels(this.back));
        this.scale = [channels(get("--low")), channels(get("--high"))];
    }
    // A colour for a value from 0 to 1.
    graded(share) {
        return pack(mix(this.scale[0], this.scale[1], share));
    }
}

// "#rrggbb" as three numbers.
function channels(text) {
    const value = parseInt(text.slice(1), 16);
    return [value >> 16 & 255, value >> 8 & 255, value & 255];
}

function mix(from, to, share) {
    return from.map((value, i) => value + (to[i] - value) * share);
}

// A colour as a canvas keeps it: red in the lowest byte.
function pack([red, green, blue]) {
    return (0xff000000 | Math.round(blue) << 16 | Math.round(green) << 8 | Math.round(red)) >>> 0;
}

const stackedFrom = 8; // rows of so many pixels or more show stacks, lower rows one mixed colour

// Draws one row into {pixels, stride, top, height, columns, phase}; `phase` is where the hatching begins. `shares` are
// those of addShares.
function paintRow(target, shares, paints, palette) {
    if (target.height >= stackedFrom)
        paintStacks(target, shares, paints, palette);
    else
        paintMixed(target, shares, paints, palette);
}

// Each activity that there is gets a pixel at least, at the cost of the largest one.
function paintStacks({pixels, stride, top, height, columns, phase}, shares, paints, palette) {
    const count = paints.length, heights = new Int32Array(count);
    for (let column = 0; column < columns; column++) {
        const begin = column * count;
        let used = 0, largest = 0, all = 0;
        for (let a = 0; a < count; a++) {
            const share = shares[begin + a];
            heights[a] = share > 0 ? Math.max(1, Math.round(share * height)) : 0;
            used += heights[a];
            all += share;
            if (share > shares[begin + largest])
                largest = a;
        }
        if (all > 0.5 || used > height)
            heights[largest] = Math.max(0, heights[largest] + height - used);
        let y = top + height;
        for (let a = 0; a < count; a++) {
            const pattern = palette.patterns[paints[a]];
            for (let n = heights[a]; n > 0 && y > top; n--) {
                y--;
                pixels[y * stride + column] = pattern[(y & 7) << 3 | (column + phase) & 7];
            }
        }
        while (y > top)
            pixels[--y * stride + column] = palette.ground;
    }
}

function paintMixed({pixels, stride, top, height, columns}, shares, paints, palette) {
    const count = paints.length, ground = channels(palette.back);
    for (let column = 0; column < columns; column++) {
        let red = 0, green = 0, blue = 0, all = 0;
        for (let a = 0; a < count; a++) {
            const share = shares[column * count + a];
            if (share > 0) {
                const colour = palette.colours[paints[a]];
                red += share * colour[0];
                green += share * colour[1];
                blue += share * colour[2];
                all += share;
            }
        }
        const rest = Math.max(0, 1 - all), whole = all + rest;
        const mixed = (0xff000000 | ((blue + rest * ground[2]) / whole + 0.5) << 16
                       | ((green + rest * ground[1]) / whole + 0.5) << 8
                       | ((red + rest * ground[0]) / whole + 0.5)) >>> 0;
        for (let y = top; y < top + height; y++)
            pixels[y * stride + column] = mixed;
    }
}
