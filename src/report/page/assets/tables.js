// The tables of the page: a click on a heading sorts them, long ones are cut, and one scheme of efficiencies is shown
// at a time.

const rowsAtFirst = 20;

function sortable(table) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
        const button = make("button", {type: "button", class: "sort", onclick: () => sortTable(table, body, column)},
                            ...head.childNodes);
        head.replaceChildren(button);
    });
}

// The first click sorts numbers from the largest down and words from A on; a second click turns the order round.
function sortTable(table, body, column) {
    const head = table.tHead.rows[0].cells[column];
    const numbers = [...body.rows].some((row) => row.cells[column].dataset.value !== undefined);
    const was = head.getAttribute("aria-sort");
    const falling = was ? was === "ascending" : numbers;
    for (const cell of table.tHead.rows[0].cells)
        cell.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const key = (row) => {
        const {value} = row.cells[column].dataset;
        return value === undefined ? numbers ? -Infinity : row.cells[column].textContent : Number(value);
    };
    const compare = (one, other) => typeof one === "string" ? one.localeCompare(other, "en", {numeric: true})
                                                            : one - other || 0;
    const rows = [...body.rows].map((row) => ({row, key: key(row)}));
    rows.sort((one, other) => (falling ? -1 : 1) * compare(one.key, other.key));
    body.append(...rows.map(({row}) => row));
    if (table.cut)
        table.cut();
}

function cutLong(table) {
    const body = table.tBodies[0];
    if (body.rows.length <= rowsAtFirst + 5)
        return;
    let all = false;
    const button = make("button", {type: "button", class: "more", onclick: () => { all = !all; table.cut(); }});
    table.cut = () => {
        [...body.rows].forEach((row, i) => row.classList.toggle("cut", !all && i >= rowsAtFirst));
        button.textContent = all ? `Show the first ${rowsAtFirst} rows` : `Show all ${body.rows.length} rows`;
    };
    table.cut();
    table.closest(".scroll").after(button);
}

// Adds a button for each scheme of efficiencies, which shows it and hides the others.
function switchTrees(holder) {
    const trees = [...holder.querySelectorAll(".table")];
    if (trees.length < 2)
        return;
    const buttons = trees.map((tree, i) => make("button", {type: "button", onclick: () => choose(i)},
                                                tree.querySelector("caption").textContent));
    const choose = (chosen) => trees.forEach((tree, i) => {
        tree.hidden = i !== chosen;
        buttons[i].setAttribute("aria-pressed", i === chosen ? "true" : "false");
    });
    holder.prepend(make("div", {class: "switch", role: "group", "aria-label": "Scheme of efficiencies"}, ...buttons));
    choose(0);
}

// Hides the lines that say what rows mean, so that more rows fit on the screen, and adds a button that shows them.
function briefTables() {
    const holder = byId("overview"), notes = document.querySelectorAll("main tbody th small");
    if (!holder || !notes.length)
        return;
    const button = make("button", {type: "button", onclick: () => choose(!brief)}, "Say what the rows mean");
    let brief = true;
    const choose = (next) => {
        brief = next;
        document.body.classList.toggle("brief", brief);
        button.setAttribute("aria-pressed", brief ? "false" : "true");
    };
    (holder.querySelector(".bands") || holder).append(button);
    choose(true);
}

function dressTables() {
    for (const table of document.querySelectorAll("#tables table.plain")) {
        if (!table.tHead || table.rows.length < 3)
            continue;
        sortable(table);
        cutLong(table);
    }
    const trees = byId("trees");
    if (trees)
        switchTrees(trees);
    briefTables();
}
