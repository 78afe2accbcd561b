"use strict";
// What all parts of the page use: elements, numbers for people, and one place that is read aloud.

// An element with properties and children; texts become text nodes, never markup.
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

// With so many digits behind the point; what rounds to nothing has no sign.
function fixed(value, digits) {
    const text = value.toFixed(digits);
    return Number(text) === 0 ? text.replace("-", "") : text;
}

const timeUnits = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

// "1.234 ms"; `digits` significant ones.
function formatTime(ns, digits = 4) {
    if (ns === 0)
        return "0 s";
    const size = Math.abs(ns);
    const [factor, unit] = timeUnits.find(([least]) => size >= least) || timeUnits[3];
    const value = ns / factor;
    const whole = Math.max(1, Math.floor(Math.log10(Math.abs(value))) + 1);
    return fixed(value, unit === "ns" ? 0 : Math.max(0, digits - whole)) + " " + unit;
}

// The same digits behind the point for all ticks of an axis.
function formatTick(ns, step) {
    const [factor, unit] = timeUnits.find(([least]) => step * 5 >= least) || timeUnits[3];
    const decimals = clamp(Math.ceil(-Math.log10(step / factor) - 1e-9), 0, 9);
    return fixed(ns / factor, decimals) + " " + unit;
}

// Whole digits, as the option --window of the command reads it.
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

// 1, 2 or 5 times a power of ten, so that about `count` of them fit.
function tickStep(range, count) {
    const raw = range / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const lead = raw / power;
    return Math.max(1, power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10));
}

// Calls `action` once all calls of a while are over.
function settled(action, milliseconds) {
    let timer = 0;
    return () => {
        clearTimeout(timer);
        timer = setTimeout(action, milliseconds);
    };
}

// What screen readers say; texts that follow each other at once are said once.
function announcer(element) {
    let text = "";
    const say = settled(() => { element.textContent = text; }, 250);
    return (next) => {
        text = next;
        say();
    };
}
