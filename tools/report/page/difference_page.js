// The page of two recordings: before and after.
const sideColours = [() => colour("second"), () => colour("accent")];
const sideNames = ["before", "after"];
const comparedFigure = (data, by = data.by) => siteFigures.find(([, , , name]) => name === by);
const measureChoice = (id, data, changed) =>
  choice(
    "Compare",
    `${id}-measure`,
    siteFigures.map(([, label, , name]) => [name, label]),
    changed,
    data.by,
  );

const sidesLegend = (section) =>
  legend(
    section,
    sideNames.map((name, i) => [name, sideColours[i]]),
  );
const changeText = (before, after, format) => (before === after ? "the same" : signed(after - before, format));
const percentChange = (before, after) =>
  before > 0 && before !== after ? signed(100 * (after / before - 1), (n) => `${n.toFixed(1)} %`) : "–";

function totalsSection(section, data) {
  const { before, after } = data;
  say(section, "The figures of the whole runs.");
  section.append(
    make(
      "div",
      { class: "plain totals" },
      table(
        "Both runs",
        [{ label: "", text: true }, ...[...sideNames, "change", "percent"].map((label) => ({ label }))],
        siteFigures.map(([key, label, format]) => [
          label,
          format(before[key]),
          format(after[key]),
          changeText(before[key], after[key], format),
          percentChange(before[key], after[key]),
        ]),
      ),
    ),
  );
}

const callTexts = ({ frames, sources }) => frames.map((name, i) => (sources[i] ? `${name} at ${sources[i]}` : name));
const changeGroups = {
  site: [
    "call site",
    (site, row) => ({
      ...siteGroups.site[1](site, row),
      key: row,
      name: siteName(site) || "calls that were not recorded",
      where: [siteGroups.site[1](site, row).where, site.through && `through ${site.through}`].filter(Boolean).join(", "),
      calls: row.frames.length > 0 ? callTexts(row) : null,
      isSite: true,
    }),
  ],
  function: siteGroups.function,
  file: siteGroups.file,
  module: siteGroups.module,
};

function changesSection(section, data) {
  const rows = data.call_sites;
  if (rows.length === 0) {
    say(section, `None: ${count(data.equal_call_sites)} have the same figures in both runs.`);
    return;
  }
  say(
    section,
    "Call sites are the same where their calls have the same functions in the same files. Each has the name of the program's " +
      `innermost line in it. ${count(data.equal_call_sites)} did not change in any figure, and are in no sum. A column's heading sorts by it.`,
  );
  if (rows.every((row) => !row.site.name))
    say(section, " The changes have no calls: record it without --no-stacks.");
  let figure = comparedFigure(data);
  const [before, after, birthsBefore, birthsAfter] = [0, 1, 2, 3];
  const change = (row) => row.values[after] - row.values[before];
  const size = (row) => Math.abs(change(row));
  const relative = (row) => (row.values[before] > 0 ? size(row) / row.values[before] : Infinity);
  const side = (i) => ({
    label: sideNames[i],
    text: (row) => figure[2](row.values[i]),
    whole: (row) => count(row.values[i]),
    weight: (row) => row.values[i],
  });
  // Of a function or a file there may be call sites that did not change: they are not here.
  const stateOf = (row) =>
    row.isSite && row.values[birthsBefore] === 0
      ? "new"
      : row.isSite && row.values[birthsAfter] === 0
        ? "gone"
        : percentChange(row.values[before], row.values[after]);
  const draw = groupedTable(section, {
    id: "changes",
    caption: "Call sites that changed",
    placeholder: "function, file",
    groups: groupChoices(changeGroups),
    columns: [
      side(before),
      side(after),
      {
        label: "change",
        text: (row) => signed(change(row), figure[2]),
        whole: (row) => signed(change(row), count),
        weight: size,
        share: (row, all) => (100 * size(row)) / all.reduce((most, each) => Math.max(most, size(each)), 1),
      },
      { label: "percent", text: stateOf, whole: stateOf, weight: relative },
    ],
    sorted: 2,
    rowsOf: (by, words) =>
      groupedRows(rows, words, {
        textOf: (row) => `${siteText(row.site)} ${callTexts(row).join(" ")}`,
        labelOf: (row) => changeGroups[by][1](row.site, row),
        valuesOf: (row) => [row.before[figure[0]], row.after[figure[0]], row.before.births, row.after.births],
      }).filter((row) => size(row) > 0),
    told: (found, groups) => {
      const [key, label, format] = figure;
      const sum = found.reduce((all, row) => all + change(row), 0);
      return `${groups}: ${label} ${signed(sum, format)}, of ${signed(data.after[key] - data.before[key], format)} in all`;
    },
    controls: [
      measureChoice("changes", data, (by) => {
        figure = comparedFigure(data, by);
        draw();
      }),
    ],
  });
}

function coursesSection(section, data) {
  const sides = sideNames.map((name) => data[name].over_time);
  say(
    section,
    "What each program had asked for and not yet given back, from its first allocation on. Each point is the most in its " +
      "stretch of the run: a peak is never left out. Drag to enlarge, double-click to go back (keys: + − 0).",
  );
  const times = [...new Set(sides.flatMap((side) => side.seconds))].sort((a, b) => a - b);
  // What lived in the stretch of a run that has this moment; nothing after its end.
  const course = ({ seconds: ends, live_bytes: live }) => {
    let stretch = 0;
    return times.map((time) => {
      while (stretch < ends.length && ends[stretch] < time) ++stretch;
      return stretch < ends.length ? live[stretch] : null;
    });
  };
  const courses = sides.map(course);
  const order = [1, 0]; // what is dashed is drawn last: it covers no other line
  chart(section, [times, ...order.map((i) => courses[i])], {
    label: "Live bytes over time, before and after",
    height: 300,
    start: courses[1].indexOf(Math.max(...courses[1])),
    scales: { x: { time: false }, y: { range: (u, min, max) => [0, Math.max(max ?? 1, 1) * 1.06] } },
    axes: [timeAxis(), bytesAxis()],
    series: [
      {},
      ...order.map((i) => ({
        stroke: sideColours[i],
        width: 2,
        dash: i === 0 ? [8, 4] : [],
        paths: uPlot.paths.stepped({ align: -1 }),
        points: { show: false },
      })),
    ],
    readout: (p) =>
      `${seconds(times[p])}: ` +
      courses
        .map((live, i) => (live[p] === null ? `${sideNames[i]} has ended` : `${sideNames[i]} ${bytes(live[p])}`))
        .join(" · "),
  });
  sidesLegend(section);
  figures(
    section,
    "Live bytes over time",
    [{ label: "seconds" }, ...sideNames.map((name) => ({ label: `${name}, bytes` }))],
    times.map((time, p) => [digits(time), ...courses.map((live) => (live[p] === null ? "–" : count(live[p])))]),
  );
}

const rangeText = ({ least, most }) => (least === most ? count(least) : `${count(least)} to ${count(most)}`);
const countSteps = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();

function comparedSizesSection(section, data) {
  const ranges = data.doublings;
  say(section, "The sizes that were asked for: each pair of bars is of one doubling, with its upper end on the right.");
  const upper = ranges.map(({ most }) => Math.log2(most));
  let figure = comparedFigure(data);
  const values = () => sideNames.map((name) => ranges.map((range) => range[name][figure[0]] || null));
  const isBytes = () => figure[2] === bytes;
  const host = make("div");
  section.append(
    measureChoice("compared", data, (by) => {
      figure = comparedFigure(data, by);
      plot.setData([middle, ...values()]);
    }),
    host,
  );
  const middle = upper.map((power) => power - 0.5);
  const bars = [-0.92, -0.5, -0.08].map((at) => upper.map((power) => power + at));
  const plot = chart(host, [middle, ...values()], {
    label: "Sizes before and after",
    height: 300,
    start: ranges.findIndex((range) => range.after[figure[0]] === Math.max(...ranges.map((r) => r.after[figure[0]]))),
    scales: {
      x: { time: false, range: (u, min, max) => [min - 0.7, max + 0.7] },
      y: { range: (u, min, max) => [0, Math.max(max ?? 1, 1) * 1.06] },
    },
    axes: [
      logAxis(2, axisBytes, { size: 34, space: 64 }),
      axis({
        size: 74,
        incrs: () => (isBytes() ? powersOfTwo : countSteps),
        values: (u, splits) => splits.map(isBytes() ? axisBytes : axisCount),
      }),
    ],
    series: [
      {},
      ...sideColours.map((fill, i) => ({ fill, paths: boxes(bars[i], bars[i + 1]), points: { show: false } })),
    ],
    readout: (i) => {
      const [key, label, format] = figure;
      const [before, after] = sideNames.map((name) => ranges[i][name][key]);
      return (
        `${rangeText(ranges[i])} bytes: ${label} ${format(before)} before · ${format(after)} after · ` +
        changeText(before, after, format)
      );
    },
  });
  sidesLegend(section);
  if (data.sizes.length === 0) return;
  figures(
    section,
    "Sizes that changed, one by one up to 1 KiB",
    [
      { label: "size", text: true },
      ...siteFigures.flatMap(([, label]) => sideNames.map((name) => ({ label: `${label}, ${name}` }))),
    ],
    data.sizes.map((size) => [
      rangeText(size),
      ...siteFigures.flatMap(([key]) => sideNames.map((name) => count(size[name][key]))),
    ]),
  );
}

// Returns: what main.js puts together.
function differencePage(data) {
  const sides = sideNames.map((name) => data[name]);
  const [before, after] = sides.map((side) => programName(side, side.trace));
  return {
    data,
    program: before === after ? after : `${before}, ${after}`,
    subject: "before and after",
    about: sides.flatMap((side, i) => [
      ...(i > 0 ? [make("br")] : []),
      `${sideNames[i]}: `,
      make("code", {}, side.trace),
      ": ",
      make("code", {}, side.arguments.join(" ")),
      `, ${seconds(side.seconds)}`,
    ]),
    warnings: sides.flatMap((side, i) => [
      side.warning && `The trace ${sideNames[i]} is not whole: ${side.warning}.`,
      side.lost_events > 0 &&
        `${count(side.lost_events)} events were lost while the run ${sideNames[i]} was recorded: its figures are too low.`,
    ]),
    tiles: [],
    sections: {
      totals: totalsSection,
      changes: changesSection,
      courses: sides.some((side) => side.over_time.seconds.length > 0) && coursesSection,
      compared: data.doublings.length > 0 && comparedSizesSection,
    },
  };
}
