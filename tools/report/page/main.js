// Puts the page together: what there are no data for is taken out.
const written = JSON.parse(byId("data").textContent);
const { tree } = written; // of a folder; of one trace there is none
const chosenPid = Number(new URLSearchParams(location.search).get("process"));
const data = tree ? written.pages.find((page) => page.trace.pid === chosenPid) || written.pages[0] : written;
const { trace, peak } = data;
const chosenProcess = tree && tree.processes.find((process) => process.pid === trace.pid);

const program = chosenProcess
  ? processName(chosenProcess)
  : (trace.program || trace.arguments[0] || trace.file).split("/").at(-1);
byId("program").textContent = program;
document.title = `ashlar report: ${program}`;
const { arguments: words } = chosenProcess || trace;
if (words.length > 0) byId("about").append(make("code", {}, words.join(" ")), make("br"));
// A trace may say anything; what no calendar has is left out.
const started = new Date(trace.started * 1000);
byId("about").append(
  make("code", {}, trace.file),
  trace.started > 0 && !Number.isNaN(started.getTime())
    ? `, recorded ${started.toISOString().slice(0, 16).replace("T", " ")} UTC`
    : "",
);
byId("version").textContent = written.ashlar;

const warnings = [
  trace.warning && `The trace is not whole: ${trace.warning}.`,
  trace.lost_events > 0 && `${count(trace.lost_events)} events were lost while recording.`,
  trace.missing_deaths > 0 &&
    `${count(trace.missing_deaths)} deaths are missing: their blocks end where their address was given out again.`,
  trace.unknown_deaths > 0 &&
    `${count(trace.unknown_deaths)} deaths are of blocks from before the recording; they are in no figure.`,
].filter(Boolean);
byId("warning").hidden = warnings.length === 0;
byId("warning").textContent = warnings.join(" ");

const refused = trace.refused_requests > 0 ? `, and ${count(trace.refused_requests)} more that pools refused` : "";
const slack = data.class_sets.map((set) => `${bytes(set.slack_at_peak)} in the ${set.name}`);
const tiles = [
  [
    "Peak",
    bytes(peak.live_bytes),
    `${count(peak.live_bytes)} bytes in ${count(peak.live_blocks)} blocks, at ${seconds(peak.seconds)}`,
  ],
  ["Run time", seconds(trace.seconds), `${count(trace.threads)} ${trace.threads === 1 ? "thread" : "threads"}`],
  ["Allocations", count(trace.births), `${bytes(trace.birth_bytes)} in all${refused}`],
  ["Frees", count(trace.deaths), `${count(trace.deaths_in_another_thread)} by another thread than allocated`],
  ["Left at the end", bytes(trace.live_bytes_at_end), `${count(trace.live_blocks_at_end)} blocks`],
  ["Slack at the peak", bytes(data.class_sets.at(-1).slack_at_peak), slack.join(", ")],
];
for (const [name, figure, more] of tiles)
  byId("tiles").append(make("div", {}, make("dt", {}, name), make("dd", {}, figure, make("small", {}, more))));

startTheme();
const sections = {
  processes: tree && ((section) => processesSection(section, written, trace.pid)),
  findings: data.findings && findingsSection,
  sites: data.sites && sitesSection,
  calls: data.call_sites && callsSection,
  held: data.timeline.held && heldSection,
  replay: data.replay && replaySection,
  compare: data.compare && compareSection,
  live: liveSection,
  sizes: sizesSection,
  lifetimes: lifetimesSection,
  slack: slackSection,
  classes: classesSection,
};
const tuning = byId("tuning");
const laterSections = []; // a closed part has no width: its charts are drawn when it opens
for (const section of document.querySelectorAll("main section")) {
  const build = sections[section.id];
  if (!build || (trace.births === 0 && !["compare", "replay", "processes"].includes(section.id))) {
    section.remove();
    continue;
  }
  const heading = section.querySelector("h2").textContent;
  section.setAttribute("aria-label", heading);
  if (tuning.contains(section)) {
    laterSections.push(() => build(section, data));
    continue;
  }
  byId("contents").append(make("li", {}, make("a", { href: `#${section.id}` }, heading)));
  build(section, data);
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
  tuning.open = !data.sites;
}
startPrinting(drawLater);
