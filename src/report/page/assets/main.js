// The start of the page's scripts, which runs when all of the page is there.

// Reads what is known of the timelines or matrices on the page: [number, meta] of each. Those that were left out to
// keep the page small are told in `section`.
async function readPictures(name, section) {
    const metas = [];
    for (let i = 0; byId(`${name}-${i}`); i++) {
        const meta = await readMeta(`${name}-${i}`);
        if (meta.absent === null)
            metas.push([i, meta]);
        else if (meta.left_out.length)
            section.append(make("p", {class: "absent"}, `${meta.title}: not here, because ${meta.absent}.`));
    }
    return metas;
}

function settle(section) {
    section.querySelector(".waiting").remove();
}

async function beginTimelines(section, palette) {
    const timelines = (await readPictures("timeline", section)).map(([number, meta]) => new Timeline(number, meta));
    settle(section);
    linkBack(section);
    if (!timelines.length)
        return;
    const viewer = new Viewer(section, timelines, palette);
    const remember = settled(() => writeFragment(viewer), 300);
    let first = !readFragment(viewer);
    viewer.changed = () => {
        if (!first)
            remember();
        first = false;
    };
    window.addEventListener("hashchange", () => readFragment(viewer));
    if (location.hash.startsWith("#view?"))
        section.scrollIntoView();
    viewer.draw();
    await Promise.all(viewer.panels.flatMap((panel) => [...panel.timeline.loading.values()]));
}

async function beginMatrices(section, palette) {
    const metas = await readPictures("matrix", section);
    settle(section);
    const matrices = metas.map(([number, meta]) => new Matrix(number, meta, palette));
    section.append(...matrices.map((matrix) => matrix.element));
    if (!matrices.length && !section.querySelector(".absent"))
        section.append(make("p", {}, "There is none; the reasons are below."));
    const again = () => matrices.forEach((matrix) => matrix.draw());
    window.addEventListener("resize", settled(again, 100));
    palette.users.push(again);
}

function explain(section, error) {
    section.querySelector(".waiting")?.replaceChildren(
        "This part of the page cannot be drawn here: " + error.message
        + ". The overview and the tables are whole without it.");
}

async function begin() {
    dressTables();
    const places = [["timelines", beginTimelines], ["matrices", beginMatrices]], palette = new Palette();
    for (const [id, start] of places) {
        const section = byId(id);
        if (!section)
            continue;
        try {
            if (typeof DecompressionStream === "undefined")
                throw new Error("this browser is too old (it has no DecompressionStream)");
            await start(section, palette);
        } catch (error) {
            explain(section, error);
        }
    }
    document.documentElement.dataset.ready = "1";
}

begin();
