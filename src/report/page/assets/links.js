// Links from a finding or a function to its place on the timeline, and back.

function linkBack(section) {
    let back = null;
    document.addEventListener("click", (event) => {
        const home = event.target.closest("a[href^='#view?']")?.closest("[data-name]");
        if (!home)
            return;
        back?.remove();
        back = make("p", {class: "back"}, make("a", {href: "#" + home.id}, "Back to " + home.dataset.name));
        section.querySelector("h2").after(back);
        section.scrollIntoView();
        back.firstChild.focus({preventScroll: true});
    });
}
