// The sections, each from its part of the data; each begins with what the reader should know of the figures.
const say = (section, ...text) => section.querySelector("p").append(...text);
const setOf = (data, i) => data.class_sets[i];

// What lived in each point of the timeline, stacked: layers: [{name, bytes}], the lowest first; the last may be the rest.
const restNames = ["other classes", "other call sites"];
function stackedChart(section, data, layers, label, options) {
  const { timeline: t, peak } = data;
  const sums = []; // sums[i]: layers 0..i, so that the last one is what lives
  layers.forEach((layer, i) => sums.push(layer.bytes.map((b, p) => b + (i > 0 ? sums[i - 1][p] : 0))));
  const paint = (i) => () => (restNames.includes(layers[i].name) ? colour("line") : layerColour(i, layers.length));
  const order = layers.map((_, i) => i).reverse(); // the highest is drawn first, what is below covers it
  chart(section, [t.seconds, ...order.map((i) => sums[i])], {
    label,
    height: 340,
    start: Math.max(t.live_bytes.indexOf(peak.live_bytes), 0),
    scales: { x: { time: false }, y: { range: (u, min, max) => [0, Math.max(max, 1) * 1.04] } },
    axes: [timeAxis(), bytesAxis()],
    series: [
      {},
      ...order.map((i) => ({ fill: paint(i), stroke: () => colour("panel"), width: 0.5, points: { show: false } })),
    ],
    ...options,
  });
  legend(section, layers.map((layer, i) => [layer.name, paint(i)]).reverse());
}

const pointsOf = (t) =>
  `Each of the ${count(t.seconds.length)} points is the highest of its interval of ${seconds(t.interval_seconds)}, at the ` +
  "moment when it was reached: a peak is never left out, a dip may be.";

// Who held memory: the call sites with the most bytes as layers, and a table of them for one moment and one span.
const siteLayers = 9;
function heldSection(section, data) {
  const { timeline: t, peak, sites } = data;
  const { sites: courses, others } = t.held;
  say(
    section,
    `Who held the program's memory in the course of the run. ${pointsOf(t)} Click on a moment (or press Enter) to see its ` +
      "holders below. Drag across a span to see who grew in it; double-click to go back (keys: + − 0).",
  );
  const nameOf = ({ site }) => {
    const { source } = sites.sites[site];
    return siteName(sites.sites[site]) + (source ? ` ${lastPart(source)}` : "");
  };
  const drawn = courses.slice(0, siteLayers);
  const rest = others.map((b, p) => b + courses.slice(siteLayers).reduce((sum, course) => sum + course.bytes[p], 0));
  const layers = drawn.map((course) => ({ name: nameOf(course), bytes: course.bytes }));
  if (rest.some((b) => b > 0)) layers.push({ name: "other call sites", bytes: rest });

  let at = Math.max(t.live_bytes.indexOf(peak.live_bytes), 0);
  let [first, last] = [0, t.seconds.length - 1];
  const host = make("div", { class: "plain holders", "aria-live": "polite" });
  const change = (b) => signed(b[last] - b[first], bytes);
  const draw = () => {
    const rows = courses.map((course) => ({ name: nameOf(course), bytes: course.bytes }));
    rows.sort((a, b) => b.bytes[at] - a.bytes[at] || b.bytes[last] - b.bytes[first] - (a.bytes[last] - a.bytes[first]));
    if (others.some((b) => b > 0)) rows.push({ name: "other call sites", bytes: others });
    const lines = rows
      .filter((row) => row.bytes[at] > 0 || row.bytes[first] !== row.bytes[last])
      .map((row) => [row.name, bytes(row.bytes[at]), percent(row.bytes[at], t.live_bytes[at]), change(row.bytes)]);
    lines.push(["all", bytes(t.live_bytes[at]), percent(t.live_bytes[at], t.live_bytes[at]), change(t.live_bytes)]);
    host.replaceChildren(
      table(
        `Who held memory at ${seconds(t.seconds[at])}, and the change from ${seconds(t.seconds[first])} to ${seconds(t.seconds[last])}`,
        [
          { label: "call site", text: true },
          { label: `at ${seconds(t.seconds[at])}` },
          { label: "of all" },
          { label: "change" },
        ],
        lines,
      ),
    );
  };
  stackedChart(section, data, layers, "Live bytes over time by call site", {
    readout: (p) => `${seconds(t.seconds[p])}: ${bytes(t.live_bytes[p])} in ${count(t.live_blocks[p])} blocks`,
    chosen: (p) => {
      at = p;
      draw();
    },
    span: (from, to) => {
      [first, last] = [Math.max(from, 0), Math.max(to, from, 0)];
      draw();
    },
  });
  section.append(host);
  draw();
}

function liveSection(section, data) {
  const { timeline: t } = data;
  say(
    section,
    `What the program had asked for and not yet given back, stacked by class (${t.classes_of}). ${pointsOf(t)} ` +
      "Drag to enlarge, double-click to go back (keys: + − 0).",
  );
  const layers = t.layers.map((layer) => ({ name: className(layer.name), bytes: layer.bytes }));
  stackedChart(section, data, layers, "Live bytes over time by class", {
    readout: (p) =>
      `${seconds(t.seconds[p])}: ${bytes(t.live_bytes[p])} in ${count(t.live_blocks[p])} blocks` +
      layers
        .filter((layer) => layer.bytes[p] > 0)
        .map((layer) => ` · ${layer.name}: ${bytes(layer.bytes[p])}`)
        .join(""),
  });
  figures(
    section,
    "Live bytes, blocks and the bytes of each class",
    [
      { label: "seconds" },
      { label: "live bytes" },
      { label: "live blocks" },
      ...layers.map((layer) => ({ label: layer.name })),
    ],
    t.seconds.map((s, p) => [
      digits(s),
      count(t.live_bytes[p]),
      count(t.live_blocks[p]),
      ...layers.map((layer) => count(layer.bytes[p])),
    ]),
  );
}

function sizesSection(section, data) {
  const s = data.sizes;
  const chosen = data.class_sets.length > 1;
  const set = setOf(data, chosen ? 1 : 0);
  say(
    section,
    "The sizes that were asked for, in 16 bins to a doubling (below 32 bytes: each size). " +
      (chosen
        ? "The lines are the chosen classes: a block goes into the first line at or right of its size, and what is between is slack."
        : "The lines are the process heap's classes that were used; with --pools the chosen ones are drawn."),
  );
  const from = s.first.map((n) => Math.log2(Math.max(n, 0.5))); // 0 bytes have the place left of 1
  const to = s.last.map((n) => Math.log2(n + 1));
  const measures = [
    ["births", "allocations"],
    ["blocks_at_peak", "blocks at the peak"],
    ["bytes_at_peak", "bytes at the peak"],
  ];
  const values = (key) => s[key].map(logCount);
  const lines = set.classes.filter((c) => c.block_size !== undefined).map((c) => c.block_size);
  const draw = (u) => {
    const { ctx } = u;
    const { left, top, width, height } = u.bbox;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.strokeStyle = colour(chosen ? "second" : "quiet");
    ctx.fillStyle = ctx.strokeStyle;
    ctx.globalAlpha = chosen ? 1 : 0.45;
    ctx.lineWidth = (chosen ? 1.5 : 1) * ratio;
    ctx.setLineDash(chosen ? [] : [3 * ratio, 3 * ratio]);
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "right";
    let free = left + width + 1;
    const places = lines
      .map((size) => [size, u.valToPos(Math.log2(size), "x", true)])
      .filter(([, x]) => x >= left && x <= left + width);
    ctx.beginPath();
    for (const [, x] of places) {
      ctx.moveTo(x, top);
      ctx.lineTo(x, top + height);
    }
    ctx.stroke();
    ctx.strokeStyle = colour("panel"); // a rim around the labels
    ctx.lineWidth = 4 * ratio;
    for (const [size, x] of places.reverse()) {
      const text = axisBytes(size);
      if (chosen && x + 2 * ratio < free && x - ctx.measureText(text).width > left) {
        ctx.strokeText(text, x - 3 * ratio, top + 11 * ratio);
        ctx.fillText(text, x - 3 * ratio, top + 11 * ratio);
        free = x - ctx.measureText(text).width - 6 * ratio;
      }
    }
    ctx.restore();
  };
  const middle = from.map((power, i) => (power + to[i]) / 2);
  const wrap = make("div");
  const show = (key) => plot.setData([middle, values(key)]);
  section.append(
    choice("Height", "size-measure", measures, (key) => show(key)),
    wrap,
  );
  const plot = chart(wrap, [middle, values("births")], {
    label: "Sizes that were asked for",
    height: 300,
    start: s.births.indexOf(Math.max(...s.births)),
    scales: { x: { time: false, range: padded }, y: logCountScale },
    axes: [logAxis(2, axisBytes, { size: 34, space: 64 }), logCountAxis()],
    series: [{}, { fill: () => colour("bar"), paths: boxes(from, to), points: { show: false } }],
    hooks: { draw: [draw] },
    readout: (i) =>
      `${s.first[i] === s.last[i] ? count(s.first[i]) : `${count(s.first[i])} to ${count(s.last[i])}`} bytes: ${count(s.births[i])} allocations, ` +
      `at the peak ${count(s.blocks_at_peak[i])} blocks of ${bytes(s.bytes_at_peak[i])}`,
  });
  figures(
    section,
    "Sizes that were asked for",
    [
      { label: "from, bytes" },
      { label: "to, bytes" },
      { label: "allocations" },
      { label: "blocks at the peak" },
      { label: "bytes at the peak" },
    ],
    s.first.map((_, i) => [
      count(s.first[i]),
      count(s.last[i]),
      count(s.births[i]),
      count(s.blocks_at_peak[i]),
      count(s.bytes_at_peak[i]),
    ]),
  );
}

function lifetimesSection(section, data) {
  const { lifetimes: l, trace } = data;
  const least = l.tick_seconds / 2;
  say(
    section,
    `How long the blocks lived that died: ${count(trace.deaths)} of ${count(trace.births)}. ` +
      `Each bin is twice as long as the one before; both axes are logarithmic. ${count(trace.live_blocks_at_end)} blocks (${bytes(trace.live_bytes_at_end)}) still lived at the end and are not counted.`,
  );
  if (l.blocks.length === 0) return;
  const from = l.from_seconds.map((s) => Math.log10(Math.max(s, least)));
  const below = l.below_seconds.map(Math.log10);
  chart(section, [from.map((power, i) => (power + below[i]) / 2), l.blocks.map(logCount)], {
    label: "Lifetimes of blocks",
    height: 300,
    start: l.blocks.indexOf(Math.max(...l.blocks)),
    scales: { x: { time: false, range: padded }, y: logCountScale },
    axes: [logAxis(10, seconds, { size: 34, space: 50 }), logCountAxis()],
    series: [{}, { fill: () => colour("bar"), paths: boxes(from, below), points: { show: false } }],
    readout: (i) =>
      `${seconds(l.from_seconds[i])} to ${seconds(l.below_seconds[i])}: ${count(l.blocks[i])} blocks (${percent(l.blocks[i], trace.deaths)}), ${bytes(l.bytes[i])}`,
  });
  figures(
    section,
    "Lifetimes of blocks that died",
    [{ label: "from, seconds" }, { label: "below, seconds" }, { label: "blocks" }, { label: "bytes" }],
    l.blocks.map((_, i) => [
      digits(l.from_seconds[i]),
      digits(l.below_seconds[i]),
      count(l.blocks[i]),
      count(l.bytes[i]),
    ]),
  );
}

function slackSection(section, data) {
  const { timeline: t, peak, trace } = data;
  const names = data.class_sets.map((set) => set.name);
  const paints = [() => colour("accent"), () => colour("second")];
  say(
    section,
    "Bytes of the blocks beyond what was asked for, at the same moments as above. A block that no class takes has whole pages of the process heap" +
      (names.length > 1 ? ", in both sets." : ". With --pools the slack in the chosen classes is beside it."),
  );
  chart(section, [t.seconds, ...t.slack_bytes], {
    label: "Slack over time",
    height: 240,
    start: Math.max(t.live_bytes.indexOf(peak.live_bytes), 0),
    scales: { x: { time: false }, y: { range: (u, min, max) => [0, Math.max(max ?? 1, 1) * 1.06] } },
    axes: [timeAxis(), bytesAxis()],
    series: [
      {},
      ...names.map((_, i) => ({ stroke: paints[i], width: 2, dash: i === 1 ? [8, 4] : [], points: { show: false } })),
    ],
    readout: (p) =>
      `${seconds(t.seconds[p])}: ` +
      names
        .map(
          (name, i) =>
            `${name} ${bytes(t.slack_bytes[i][p])} (${percent(t.slack_bytes[i][p], t.live_bytes[p])} of live bytes)`,
        )
        .join(" · "),
  });
  legend(
    section,
    names.map((name, i) => [name, paints[i]]),
  );
  const sum = make(
    "div",
    { class: "plain" },
    table(
      "Slack",
      [
        { label: "classes", text: true },
        { label: "at the peak, bytes" },
        { label: "of live bytes" },
        { label: "mean over time, bytes" },
        { label: "of live bytes" },
      ],
      data.class_sets.map((set) => [
        set.name,
        count(set.slack_at_peak),
        percent(set.slack_at_peak, peak.live_bytes),
        count(Math.round(set.slack_mean)),
        percent(set.slack_mean, trace.live_bytes_mean),
      ]),
    ),
  );
  section.append(sum);
  figures(
    section,
    "Slack over time",
    [{ label: "seconds" }, ...names.map((name) => ({ label: `${name}, bytes` }))],
    t.seconds.map((s, p) => [digits(s), ...names.map((_, i) => count(t.slack_bytes[i][p]))]),
  );
}

function classesSection(section, data) {
  const pools = data.pools;
  say(
    section,
    pools
      ? `The chosen classes are those of ${pools.file}: ${bytes(pools.total_bytes)} (${count(pools.total_bytes)} bytes) in all, with a margin of ${pools.margin_percent} %, from ${pools.inputs.join(", ")}. ` +
          "A class whose peak is above its capacity could not serve this run."
      : "What each class of the process heap would hold.",
  );
  for (const set of [...data.class_sets].reverse()) {
    const bounded = set.classes.some((c) => c.capacity !== undefined);
    const columns = [
      { label: "class", text: true },
      { label: "allocations" },
      { label: "most blocks at once" },
      ...(bounded ? [{ label: "capacity" }] : []),
      { label: "blocks at the peak" },
      { label: "bytes at the peak" },
      { label: "slack at the peak" },
    ];
    figures(
      section,
      `Blocks by class: ${set.name}`,
      columns,
      set.classes.map((c) => [
        c.block_size === undefined ? c.name : `${count(c.block_size)} B`,
        count(c.births),
        count(c.peak_blocks),
        ...(bounded ? [c.capacity === undefined ? "–" : count(c.capacity)] : []),
        count(c.blocks_at_peak),
        count(c.bytes_at_peak),
        count(c.slack_at_peak),
      ]),
    );
    const details = section.lastElementChild;
    details.querySelector("summary").textContent =
      `${set.name[0].toUpperCase()}${set.name.slice(1)}: ${count(set.classes.length)} rows`;
    details.open = data.class_sets.length === 1 || set !== data.class_sets[0];
  }
}

function callsSection(section, data) {
  say(
    section,
    "Callers above, callees below. A click (or Enter) enlarges a call, another one on the top row goes back (Escape); arrow keys move. " +
      "What is below a 500th of the program in every measure is summed up as (smaller).",
  );
  const measures = [
    ["bytes_at_peak", "bytes at the peak", bytes],
    ["births", "allocations", (n) => `${count(n)} allocations`],
    ["bytes", "all bytes", bytes],
    ["bytes_at_end", "still held at the end", bytes],
    ["temporaries", "temporaries", (n) => `${count(n)} temporaries`],
  ];
  flame(section, data.call_sites, measures);
  const rows = data.call_sites.map((node, i) => {
    let depth = 0;
    for (let up = i; up !== 0; up = data.call_sites[up].parent) ++depth;
    return [
      `${"· ".repeat(depth)}${node.name}${node.source && ` at ${node.source}`}`,
      count(node.bytes_at_peak),
      count(node.blocks_at_peak),
      count(node.births),
      count(node.bytes),
      count(node.bytes_at_end),
      count(node.blocks_at_end),
    ];
  });
  figures(
    section,
    "Call sites, callers first",
    [
      { label: "call", text: true },
      { label: "bytes at the peak" },
      { label: "blocks at the peak" },
      { label: "allocations" },
      { label: "all bytes" },
      { label: "bytes at the end" },
      { label: "blocks at the end" },
    ],
    rows,
  );
}
