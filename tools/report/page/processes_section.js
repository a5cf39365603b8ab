// The processes of a folder: totals, what lived over time in all of them, and a table to choose one from.
// written: {tree: the folder's index, pages: [the data of a process]}.
const processName = (process) => lastPart(process.arguments[0] || "") || lastPart(process.program);
const processesAtOnce = 40;

// Returns: the processes, each behind the one that made it, with how deep it is below the first.
function processRows(processes) {
  const known = new Set(processes.map((process) => process.pid));
  const children = new Map();
  const first = [];
  for (const process of processes) {
    const isFirst = !known.has(process.parent) || process.parent === process.pid;
    if (isFirst) first.push(process);
    else if (children.has(process.parent)) children.get(process.parent).push(process);
    else children.set(process.parent, [process]);
  }
  const rows = [];
  const waiting = first.reverse().map((process) => ({ process, depth: 0 }));
  while (waiting.length > 0) {
    const row = waiting.pop();
    rows.push(row);
    const below = children.get(row.process.pid) || [];
    children.delete(row.process.pid); // a process number may have been given out again
    for (const process of below.reverse()) waiting.push({ process, depth: row.depth + 1 });
  }
  return rows;
}

function processEnd(process) {
  if (process.end_seconds === null) return "still ran";
  if (process.signal !== null) return `signal ${process.signal}`;
  return process.exit_status === null ? "?" : `exit ${process.exit_status}`;
}

function processesChart(section, tree) {
  const { at_seconds: looks = [], proportional_over_time: seen = [] } = tree.memory_together;
  const sums = looks.length > 1 ? seen : tree.bytes_over_time;
  const each = tree.seconds / sums.length;
  const ends = looks.length > 1 ? looks : sums.map((_, i) => (i + 1) * each);
  const what = looks.length > 1 ? "in memory (PSS)" : "at most allocated";
  chart(section, [ends, sums], {
    label: `Bytes of all processes over time, ${what}`,
    height: 180,
    start: Math.max(sums.indexOf(Math.max(...sums)), 0),
    scales: { x: { time: false }, y: { range: (u, min, max) => [0, Math.max(max, 1) * 1.04] } },
    axes: [timeAxis(), bytesAxis()],
    series: [{}, { fill: () => layerColour(0, 1), stroke: () => colour("panel"), width: 0.5, points: { show: false } }],
    readout: (i) => `at ${seconds(ends[i])}: ${bytes(sums[i])} ${what}, of all processes`,
  });
}

function processesSection(section, { tree, pages }, shownPid) {
  const sum = (key) => tree.processes.reduce((all, process) => all + process[key], 0);
  const hasPage = new Set(pages.map((page) => page.trace.pid));
  say(
    section,
    make("code", {}, tree.command.join(" ") || tree.folder),
    ` ran ${count(tree.processes.length)} ${tree.processes.length === 1 ? "process" : "processes"} in ` +
      `${seconds(tree.seconds)}. They allocated ${bytes(sum("allocated_bytes"))} in ${count(sum("births"))} blocks, and held ` +
      `at most ${bytes(tree.peak_bytes_at_most)} at one time. All else on this page is of the process that is marked. The name of ` +
      "another one leads to its figures" +
      (hasPage.size < tree.processes.length ? "; this page has those of the processes that had most memory." : "."),
  );
  processesChart(section, tree);
  const nameCell = ({ process, depth }) => {
    const name = processName(process);
    const cell = make("td", { class: "text" });
    cell.style.paddingInlineStart = `${0.625 + Math.min(depth, 10)}rem`;
    if (process.pid === shownPid) cell.append(make("strong", { "aria-current": "true" }, name));
    else if (hasPage.has(process.pid)) cell.append(make("a", { href: `?process=${process.pid}` }, name));
    else cell.append(name);
    cell.title = process.arguments.join(" ");
    return cell;
  };
  const columns = ["program", "in memory", "peak", "left at the end", "allocated", "process", "begin, s", "end, s", "ended by"];
  const heading = (label, i) => make("th", { scope: "col", class: i === 0 ? "text" : "" }, label);
  const head = make("tr", {}, ...columns.map(heading));
  const figuresOf = (process) =>
    process.trace === null
      ? ["–", "–", "–", "–"]
      : [
          process.resident_bytes === 0 ? "–" : bytes(process.resident_bytes),
          bytes(process.peak_bytes),
          bytes(process.held_bytes),
          bytes(process.allocated_bytes),
        ];
  const body = make("tbody");
  const rows = processRows(tree.processes);
  for (const row of rows) {
    const { process } = row;
    const cells = [
      ...figuresOf(process),
      `${process.pid}`,
      process.begin_seconds.toFixed(3),
      process.end_seconds === null ? "–" : process.end_seconds.toFixed(3),
      processEnd(process),
    ];
    const line = make("tr", {}, nameCell(row), ...cells.map((text) => make("td", {}, text)));
    if (process.pid === shownPid) line.className = "shown";
    body.append(line);
  }
  const caption = make("caption", {}, "The processes, each below the one that made it");
  const scroll = make(
    "div",
    {
      class: rows.length > processesAtOnce ? "scroll long" : "scroll",
      tabindex: "0",
      role: "region",
      "aria-label": "Processes",
    },
    make("table", {}, caption, make("thead", {}, head), body),
  );
  section.append(scroll);
}
