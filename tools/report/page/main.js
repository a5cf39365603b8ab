// Puts the page together: what there are no data for is taken out.
const written = JSON.parse(byId("data").textContent);
// {data, program, subject: behind its name, about: nodes, warnings, tiles: [[name, figure, more]],
//  sections: {element: build(section, data), or nothing}}
const pages = { diff: differencePage, compare: comparisonPage };
const page = (pages[written.report] || tracePage)(written);

byId("program").textContent = page.program;
byId("subject").textContent = page.subject;
const command = `ashlar ${pages[written.report] ? written.report : "report"}`;
document.title = `${command}: ${page.program}`;
byId("about").append(...page.about);
byId("command").textContent = command;
byId("version").textContent = written.ashlar;

const warnings = page.warnings.filter(Boolean);
byId("warning").hidden = warnings.length === 0;
byId("warning").textContent = warnings.join(" ");

for (const [name, figure, more] of page.tiles)
  byId("tiles").append(make("div", {}, make("dt", {}, name), make("dd", {}, figure, make("small", {}, more))));
if (page.tiles.length === 0) byId("tiles").remove();

startTheme();
const tuning = byId("tuning");
const laterSections = []; // a closed part has no width: its charts are drawn when it opens
for (const section of document.querySelectorAll("main section")) {
  const build = page.sections[section.id];
  if (!build) {
    section.remove();
    continue;
  }
  const heading = section.querySelector("h2").textContent;
  section.setAttribute("aria-label", heading);
  if (tuning.contains(section)) {
    laterSections.push(() => build(section, page.data));
    continue;
  }
  byId("contents").append(make("li", {}, make("a", { href: `#${section.id}` }, heading)));
  build(section, page.data);
}
const drawLater = () => {
  for (const build of laterSections.splice(0)) build();
};
if (laterSections.length === 0) {
  tuning.remove();
} else {
  tuning.addEventListener("toggle", () => tuning.open && drawLater());
  const link = make("a", { href: "#tuning" }, "For those who tune");
  link.addEventListener("click", () => (tuning.open = true));
  byId("contents").append(make("li", {}, link));
  // Of a trace without call stacks there is nothing else to see.
  tuning.open = !page.data.sites;
}
startPrinting(drawLater);
