"use strict";
// Tools that all parts of the page use: elements, numbers for people, and texts that are read aloud.

// Makes an element with properties and children; texts become text nodes, never markup.
function make(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(properties || {})) {
        if (key.startsWith("on"))
            element.addEventListener(key.slice(2), value);
        else if (key === "class")
            element.className = value;
        else if (value === true)
            element.setAttribute(key, "");
        else if (value !== false && value !== null && value !== undefined)
            element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
}

function byId(id) {
    return document.getElementById(id);
}

function clamp(value, low, high) {
    return Math.min(Math.max(value, low), high);
}

// A number with so many digits behind the point; one that rounds to 0 has no sign.
function fixed(value, digits) {
    const text = value.toFixed(digits);
    return Number(text) === 0 ? text.replace("-", "") : text;
}

const timeUnits = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

// A time such as "1.234 ms", with so many significant digits.
function formatTime(ns, digits = 4) {
    if (ns === 0)
        return "0 s";
    const size = Math.abs(ns);
    const [factor, unit] = timeUnits.find(([least]) => size >= least) || timeUnits[3];
    const value = ns / factor;
    const whole = Math.max(1, Math.floor(Math.log10(Math.abs(value))) + 1);
    return fixed(value, unit === "ns" ? 0 : Math.max(0, digits - whole)) + " " + unit;
}

// A time on an axis: all ticks have as many digits behind the point.
function formatTick(ns, step) {
    const [factor, unit] = timeUnits.find(([least]) => step * 5 >= least) || timeUnits[3];
    const decimals = clamp(Math.ceil(-Math.log10(step / factor) - 1e-9), 0, 9);
    return fixed(ns / factor, decimals) + " " + unit;
}

// A time in seconds to the ns, as the option --window of the command reads it.
function formatSeconds(ns) {
    return (ns / 1e9).toFixed(9).replace(/0+$/, "").replace(/\.$/, "") + "s";
}

function formatShare(share) {
    return fixed(100 * share, 1) + " %";
}

const prefixes = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

function formatValue(value, unit) {
    if (!Number.isFinite(value))
        return "none";
    if (unit === "s")
        return formatTime(value * 1e9);
    if (unit === "ratio")
        return fixed(value, 3);
    if (unit === "count" || unit === "")
        return Number.isInteger(value) ? value.toLocaleString("en") : value.toPrecision(4);
    if (unit === "GHz")
        return fixed(value, 3) + " GHz";
    const [factor, prefix] = prefixes.find(([least]) => Math.abs(value) >= least) || prefixes[4];
    const digits = factor === 1 && Number.isInteger(value) ? value.toString()
                                                           : (value / factor).toPrecision(4);
    return digits + " " + prefix + unit;
}

// The distance of ticks: 1, 2 or 5 times a power of ten, so that about `count` ticks fit into a range.
function tickStep(range, count) {
    const raw = range / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const lead = raw / power;
    return Math.max(1, power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10));
}

// A function that calls `action` once, so many milliseconds after it was called for the last time.
function settled(action, milliseconds) {
    let timer = 0;
    return () => {
        clearTimeout(timer);
        timer = setTimeout(action, milliseconds);
    };
}

// A function that has screen readers say a text; of texts that follow each other at once only the last one is said.
function announcer(element) {
    let text = "";
    const say = settled(() => { element.textContent = text; }, 250);
    return (next) => {
        text = next;
        say();
    };
}

// Calls `listener` when the pointer has moved. Browsers also tell of a pointer that rests when what lies below it has
// moved; a cell or a time that was chosen by keys stays chosen then.
function listenMoves(element, listener) {
    let x = null, y = null;
    element.addEventListener("pointermove", (event) => {
        if (event.clientX === x && event.clientY === y)
            return;
        [x, y] = [event.clientX, event.clientY];
        listener(event);
    });
}
