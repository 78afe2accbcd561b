// Links from a finding to its place on the timeline, and back.

function linkFindings(section) {
    const findings = byId("findings");
    if (!findings)
        return;
    let back = null;
    findings.addEventListener("click", (event) => {
        const link = event.target.closest("a[href^='#view?']");
        if (!link)
            return;
        const finding = link.closest("li");
        const number = finding.id.replace("finding-", "");
        back?.remove();
        back = make("p", {class: "back"}, make("a", {href: "#" + finding.id}, "Back to finding " + number));
        section.querySelector("h2").after(back);
        section.scrollIntoView();
        back.firstChild.focus({preventScroll: true});
    });
}
