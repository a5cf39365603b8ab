// The sections about several allocators: what ashlar replay and ashlar compare measured.
// Each allocator's median as a bar from 0, and the range of its runs.
function rangeChart(host, title, items, format, axisFormat) {
  const x = items.map((_, i) => i);
  const slanted = items.length * Math.max(...items.map((item) => item.name.length)) > 40; // characters in a row
  const draw = (u) => {
    const { ctx } = u;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.strokeStyle = colour("text");
    ctx.lineWidth = 1.5 * ratio;
    items.forEach((item, i) => {
      const at = u.valToPos(i, "x", true);
      const [low, high] = [u.valToPos(item.min, "y", true), u.valToPos(item.max, "y", true)];
      ctx.beginPath();
      ctx.moveTo(at, low);
      ctx.lineTo(at, high);
      for (const y of [low, high]) {
        ctx.moveTo(at - 4 * ratio, y);
        ctx.lineTo(at + 4 * ratio, y);
      }
      ctx.stroke();
    });
    ctx.restore();
  };
  chart(host, [x, items.map((item) => item.median)], {
    label: title,
    height: 220,
    start: 0,
    scales: {
      x: { time: false, range: () => [-0.5, items.length - 0.5] },
      y: { range: () => [0, Math.max(...items.map((item) => item.max)) * 1.08 || 1] },
    },
    axes: [
      axis({
        splits: () => x,
        values: () => items.map((item) => item.name),
        grid: { show: false },
        rotate: slanted ? 35 : 0,
        size: slanted ? 78 : 34,
      }),
      axis({
        size: 74,
        values: (u, splits) => splits.map(axisFormat),
        ...(axisFormat === axisBytes ? { incrs: powersOfTwo } : {}),
      }),
    ],
    series: [
      {},
      {
        fill: () => colour("bar"),
        paths: boxes(
          x.map((i) => i - 0.32),
          x.map((i) => i + 0.32),
        ),
        points: { show: false },
      },
    ],
    cursor: { drag: { x: false, y: false } },
    hooks: { draw: [draw] },
    readout: (i) =>
      `${items[i].name}: median ${format(items[i].median)}, ${format(items[i].min)} to ${format(items[i].max)}, ${(items[i].median / items[0].median).toFixed(2)} of ${items[0].name}`,
  });
}

// items: [{name, runs, wall_seconds, cpu_seconds, peak_rss_bytes}]; where a run failed, without figures.
const runMeasures = [
  ["wall_seconds", "Wall time", seconds, seconds],
  ["cpu_seconds", "Processor time", seconds, seconds],
  ["peak_rss_bytes", "Peak RSS", bytes, axisBytes],
];

function rangeCharts(section, items) {
  const measured = items.filter((item) => item.wall_seconds !== undefined);
  if (measured.length === 0) return;
  const multiples = make("div", { class: "multiples" });
  section.append(multiples);
  for (const [key, title, format, axisFormat] of runMeasures) {
    const part = make("div", {}, make("h3", {}, title));
    multiples.append(part);
    rangeChart(
      part,
      `${title} on each allocator`,
      measured.map((item) => ({ name: item.name, ...item[key] })),
      format,
      axisFormat,
    );
  }
}
const spreadColumns = runMeasures.flatMap(([, title]) =>
  ["median", "least", "most"].map((which) => ({
    label: `${title}, ${which}, ${title.includes("RSS") ? "bytes" : "s"}`,
  })),
);
const spreadCells = (item) =>
  runMeasures.flatMap(([key]) =>
    item[key] === undefined ? ["–", "–", "–"] : ["median", "min", "max"].map((which) => digits(item[key][which])),
  );

function compareSection(section, c) {
  say(
    section,
    make("code", {}, c.command.join(" ")),
    " on several allocators: bars are medians, lines from the least to the most of all runs. " +
      `Below ${c.allocators[0].name} is better.`,
  );
  rangeCharts(section, c.allocators);
  figures(
    section,
    "The program's runs on each allocator",
    [{ label: "allocator", text: true }, { label: "runs" }, ...spreadColumns, { label: "failure", text: true }],
    c.allocators.map((a) => [a.name, count(a.runs), ...spreadCells(a), a.failure || "–"]),
  );
  section.append(make("pre", {}, c.notes));
}

// The page of ashlar compare.
// Returns: what main.js puts together.
function comparisonPage(written) {
  return {
    data: written,
    program: written.label,
    subject: "on several allocators",
    about: [],
    warnings: [],
    tiles: [],
    sections: { compare: compareSection },
  };
}

const percentiles = [
  ["p50_ns", "50 %"],
  ["p90_ns", "90 %"],
  ["p99_ns", "99 %"],
  ["p99.9_ns", "99.9 %"],
  ["p99.99_ns", "99.99 %"],
  ["longest_ns", "longest"],
];

function replaySection(section, data) {
  const { outcomes, file, trace: replayed } = data.replay;
  say(
    section,
    `The events of ${replayed} again on each allocator (${file}). Latencies: the time that so many of all calls did not pass; the time of reading the clock is in it. ` +
      "Bars are medians, lines from the least to the most of all runs.",
  );
  const calls = ["malloc", "calloc", "aligned_alloc", "realloc", "free"].filter((call) =>
    outcomes.some((o) => o.latencies[call]),
  );
  const wrap = make("div");
  const names = outcomes.filter((o) => calls.some((call) => o.latencies[call])).map((o) => o.name);
  const of = (name, call) => outcomes.find((o) => o.name === name).latencies[call];
  const x = percentiles.map((_, i) => i);
  const values = (call) => names.map((name) => percentiles.map(([key]) => logCount(of(name, call)?.[key])));
  if (names.length > 0) {
    let call = calls[0];
    const paints = names.map(
      (_, i) => () => `oklch(${isDark() ? 0.76 : 0.55} 0.14 ${(250 + (i * 360) / names.length) % 360})`,
    );
    section.append(
      choice(
        "Call",
        "latency-call",
        calls.map((name) => [name, name]),
        (value) => {
          call = value;
          plot.setData([x, ...values(call)]);
        },
      ),
      wrap,
    );
    const plot = chart(wrap, [x, ...values(call)], {
      label: "Latencies of a call on each allocator",
      height: 300,
      start: 2,
      scales: {
        x: { time: false, range: () => [-0.2, x.length - 0.8] },
        y: { range: (u, min, max) => [Math.floor(min ?? 1), Math.ceil(max ?? 3)] },
      },
      axes: [
        axis({ size: 34, splits: () => x, values: () => percentiles.map(([, label]) => label) }),
        logAxis(10, (ns) => seconds(ns * 1e-9), { size: 64 }),
      ],
      series: [
        {},
        ...paints.map((stroke, i) => ({
          stroke,
          width: 2,
          dash: [[], [8, 4], [2, 3]][i % 3],
          points: { show: true, size: 6 },
        })),
      ],
      cursor: { drag: { x: false, y: false } },
      readout: (i) =>
        `${call}, ${percentiles[i][1]}: ` +
        names
          .filter((name) => of(name, call))
          .map((name) => `${name} ${seconds(of(name, call)[percentiles[i][0]] * 1e-9)}`)
          .join(" · "),
    });
    legend(
      wrap,
      names.map((name, i) => [name, paints[i]]),
    );
    figures(
      section,
      "Latencies, in nanoseconds",
      [
        { label: "call", text: true },
        { label: "allocator", text: true },
        { label: "calls" },
        ...percentiles.map(([, label]) => ({ label })),
      ],
      calls.flatMap((which) =>
        names
          .filter((name) => of(name, which))
          .map((name) => [
            which,
            name,
            count(of(name, which).calls),
            ...percentiles.map(([key]) => count(of(name, which)[key])),
          ]),
      ),
    );
  }
  rangeCharts(section, outcomes);
  figures(
    section,
    "The trace's replays on each allocator",
    [{ label: "allocator", text: true }, { label: "runs" }, ...spreadColumns, { label: "requests that failed" }],
    outcomes.map((o) => [o.name, count(o.runs), ...spreadCells(o), count(o.failed_requests)]),
  );
}
