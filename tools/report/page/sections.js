// The sections, each from its part of the data; each begins with what the reader should know of the figures.
const say = (section, ...text) => section.querySelector("p").append(...text);
const setOf = (data, i) => data.class_sets[i];

function liveSection(section, data) {
  const { timeline: t, peak } = data;
  say(section, `What the program had asked for and not yet given back, stacked by class (${t.classes_of}). Each of the `
    + `${count(t.seconds.length)} points is the highest of its interval of ${seconds(t.interval_seconds)}, at the moment when it was reached: `
    + "a peak is never left out, a dip may be. Drag to enlarge, double-click to go back (keys: + − 0).");
  const layers = t.layers;
  const sums = [];  // sums[i]: layers 0..i, so that the last one is what lives
  layers.forEach((layer, i) => sums.push(layer.bytes.map((b, p) => b + (i > 0 ? sums[i - 1][p] : 0))));
  const paint = (i) => () => (layers[i].name === "other classes" ? colour("line") : layerColour(i, layers.length));
  const order = layers.map((_, i) => i).reverse();  // the highest is drawn first, what is below covers it
  let start = t.live_bytes.indexOf(peak.live_bytes);
  chart(section, [t.seconds, ...order.map((i) => sums[i])], {
    label: "Live bytes over time by class", height: 340, start: Math.max(start, 0),
    scales: { x: { time: false }, y: { range: (u, min, max) => [0, Math.max(max, 1) * 1.04] } },
    axes: [timeAxis(), bytesAxis()],
    series: [{}, ...order.map((i) => ({ fill: paint(i), stroke: () => colour("panel"), width: 0.5, points: { show: false } }))],
    readout: (p) => `${seconds(t.seconds[p])}: ${bytes(t.live_bytes[p])} in ${count(t.live_blocks[p])} blocks`
      + layers.map((layer) => [className(layer.name), layer.bytes[p]]).filter(([, b]) => b > 0).map(([name, b]) => ` · ${name}: ${bytes(b)}`).join(""),
  });
  legend(section, layers.map((layer, i) => [className(layer.name), paint(i)]).reverse());
  figures(section, "Live bytes, blocks and the bytes of each class",
    [{ label: "seconds" }, { label: "live bytes" }, { label: "live blocks" }, ...layers.map((layer) => ({ label: className(layer.name) }))],
    t.seconds.map((s, p) => [`${s}`, count(t.live_bytes[p]), count(t.live_blocks[p]), ...layers.map((layer) => count(layer.bytes[p]))]));
}

function sizesSection(section, data) {
  const s = data.sizes;
  const chosen = data.class_sets.length > 1;
  const set = setOf(data, chosen ? 1 : 0);
  say(section, "The sizes that were asked for, in 16 bins to a doubling (below 32 bytes: each size). "
    + (chosen ? "The lines are the chosen classes: a block goes into the first line at or right of its size, and what is between is slack."
              : "The lines are the process heap's classes that were used; with --pools the chosen ones are drawn."));
  const from = s.first.map((n) => Math.log2(Math.max(n, 0.5)));  // 0 bytes have the place left of 1
  const to = s.last.map((n) => Math.log2(n + 1));
  const measures = [["births", "allocations"], ["blocks_at_peak", "blocks at the peak"], ["bytes_at_peak", "bytes at the peak"]];
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
    const places = lines.map((size) => [size, u.valToPos(Math.log2(size), "x", true)]).filter(([, x]) => x >= left && x <= left + width);
    ctx.beginPath();
    for (const [, x] of places) {
      ctx.moveTo(x, top);
      ctx.lineTo(x, top + height);
    }
    ctx.stroke();
    ctx.strokeStyle = colour("panel");  // a rim around the labels
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
  section.append(choice("Height", "size-measure", measures, (key) => show(key)), wrap);
  const plot = chart(wrap, [middle, values("births")], {
    label: "Sizes that were asked for", height: 300, start: s.births.indexOf(Math.max(...s.births)),
    scales: { x: { time: false, range: padded }, y: logCountScale },
    axes: [logAxis(2, axisBytes, { size: 34, space: 64 }), logCountAxis()],
    series: [{}, { fill: () => colour("bar"), paths: boxes(from, to), points: { show: false } }],
    hooks: { draw: [draw] },
    readout: (i) => `${s.first[i] === s.last[i] ? count(s.first[i]) : `${count(s.first[i])} to ${count(s.last[i])}`} bytes: ${count(s.births[i])} allocations, `
      + `at the peak ${count(s.blocks_at_peak[i])} blocks of ${bytes(s.bytes_at_peak[i])}`,
  });
  figures(section, "Sizes that were asked for",
    [{ label: "from, bytes" }, { label: "to, bytes" }, { label: "allocations" }, { label: "blocks at the peak" }, { label: "bytes at the peak" }],
    s.first.map((_, i) => [count(s.first[i]), count(s.last[i]), count(s.births[i]), count(s.blocks_at_peak[i]), count(s.bytes_at_peak[i])]));
}

function lifetimesSection(section, data) {
  const { lifetimes: l, trace } = data;
  const least = l.tick_seconds / 2;
  say(section, `How long the blocks lived that died: ${count(trace.deaths)} of ${count(trace.births)}. `
    + `Each bin is twice as long as the one before; both axes are logarithmic. ${count(trace.live_blocks_at_end)} blocks (${bytes(trace.live_bytes_at_end)}) still lived at the end and are not counted.`);
  if (l.blocks.length === 0) return;
  const from = l.from_seconds.map((s) => Math.log10(Math.max(s, least)));
  const below = l.below_seconds.map(Math.log10);
  chart(section, [from.map((power, i) => (power + below[i]) / 2), l.blocks.map(logCount)], {
    label: "Lifetimes of blocks", height: 300, start: l.blocks.indexOf(Math.max(...l.blocks)),
    scales: { x: { time: false, range: padded }, y: logCountScale },
    axes: [logAxis(10, seconds, { size: 34, space: 50 }), logCountAxis()],
    series: [{}, { fill: () => colour("bar"), paths: boxes(from, below), points: { show: false } }],
    readout: (i) => `${seconds(l.from_seconds[i])} to ${seconds(l.below_seconds[i])}: ${count(l.blocks[i])} blocks (${percent(l.blocks[i], trace.deaths)}), ${bytes(l.bytes[i])}`,
  });
  figures(section, "Lifetimes of blocks that died",
    [{ label: "from, seconds" }, { label: "below, seconds" }, { label: "blocks" }, { label: "bytes" }],
    l.blocks.map((_, i) => [`${l.from_seconds[i]}`, `${l.below_seconds[i]}`, count(l.blocks[i]), count(l.bytes[i])]));
}

function slackSection(section, data) {
  const { timeline: t, peak, trace } = data;
  const names = data.class_sets.map((set) => set.name);
  const paints = [() => colour("accent"), () => colour("second")];
  say(section, "Bytes of the blocks beyond what was asked for, at the same moments as above. A block that no class takes has whole pages of the process heap"
    + (names.length > 1 ? ", in both sets." : ". With --pools the slack in the chosen classes is beside it."));
  chart(section, [t.seconds, ...t.slack_bytes], {
    label: "Slack over time", height: 240, start: Math.max(t.live_bytes.indexOf(peak.live_bytes), 0),
    scales: { x: { time: false }, y: { range: (u, min, max) => [0, Math.max(max ?? 1, 1) * 1.06] } },
    axes: [timeAxis(), bytesAxis()],
    series: [{}, ...names.map((_, i) => ({ stroke: paints[i], width: 2, dash: i === 1 ? [8, 4] : [], points: { show: false } }))],
    readout: (p) => `${seconds(t.seconds[p])}: ` + names.map((name, i) => `${name} ${bytes(t.slack_bytes[i][p])} (${percent(t.slack_bytes[i][p], t.live_bytes[p])} of live bytes)`).join(" · "),
  });
  legend(section, names.map((name, i) => [name, paints[i]]));
  const sum = make("div", { class: "plain" }, table("Slack", [{ label: "classes", text: true }, { label: "at the peak, bytes" }, { label: "of live bytes" }, { label: "mean over time, bytes" }, { label: "of live bytes" }],
    data.class_sets.map((set) => [set.name, count(set.slack_at_peak), percent(set.slack_at_peak, peak.live_bytes), count(Math.round(set.slack_mean)), percent(set.slack_mean, trace.live_bytes_mean)])));
  section.append(sum);
  figures(section, "Slack over time", [{ label: "seconds" }, ...names.map((name) => ({ label: `${name}, bytes` }))],
    t.seconds.map((s, p) => [`${s}`, ...names.map((_, i) => count(t.slack_bytes[i][p]))]));
}

function classesSection(section, data) {
  const pools = data.pools;
  say(section, pools ? `The chosen classes are those of ${pools.file}: ${bytes(pools.total_bytes)} (${count(pools.total_bytes)} bytes) in all, with a margin of ${pools.margin_percent} %, from ${pools.traces.join(", ")}. `
    + "A class whose peak is above its capacity could not serve this run." : "What each class of the process heap would hold.");
  for (const set of [...data.class_sets].reverse()) {
    const bounded = set.classes.some((c) => c.capacity !== undefined);
    const columns = [{ label: "class", text: true }, { label: "allocations" }, { label: "most blocks at once" }, ...(bounded ? [{ label: "capacity" }] : []),
      { label: "blocks at the peak" }, { label: "bytes at the peak" }, { label: "slack at the peak" }];
    figures(section, `Blocks by class: ${set.name}`, columns, set.classes.map((c) => [
      c.block_size === undefined ? c.name : `${count(c.block_size)} B`, count(c.births), count(c.peak_blocks), ...(bounded ? [c.capacity === undefined ? "–" : count(c.capacity)] : []),
      count(c.blocks_at_peak), count(c.bytes_at_peak), count(c.slack_at_peak)]));
    const details = section.lastElementChild;
    details.querySelector("summary").textContent = `${set.name[0].toUpperCase()}${set.name.slice(1)}: ${count(set.classes.length)} rows`;
    details.open = data.class_sets.length === 1 || set !== data.class_sets[0];
  }
}

function callsSection(section, data) {
  say(section, "Callers above, callees below. A click (or Enter) enlarges a call, another one on the top row goes back (Escape); arrow keys move. "
    + "What is below a 500th of the program in every measure is summed up as (smaller).");
  const measures = [["bytes_at_peak", "bytes at the peak", bytes], ["births", "allocations", (n) => `${count(n)} allocations`], ["bytes", "all bytes", bytes]];
  flame(section, data.call_sites, measures);
  const rows = data.call_sites.map((node, i) => {
    let depth = 0;
    for (let up = i; up !== 0; up = data.call_sites[up].parent) ++depth;
    return [`${"· ".repeat(depth)}${node.name}`, count(node.bytes_at_peak), count(node.blocks_at_peak), count(node.births), count(node.bytes)];
  });
  figures(section, "Call sites, callers first",
    [{ label: "call", text: true }, { label: "bytes at the peak" }, { label: "blocks at the peak" }, { label: "allocations" }, { label: "all bytes" }], rows);
}

// Each allocator's median as a bar from 0, and the range of its runs.
function rangeChart(host, title, items, format, axisFormat) {
  const x = items.map((_, i) => i);
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
      for (const y of [low, high]) { ctx.moveTo(at - 4 * ratio, y); ctx.lineTo(at + 4 * ratio, y); }
      ctx.stroke();
    });
    ctx.restore();
  };
  chart(host, [x, items.map((item) => item.median)], {
    label: title, height: 220, start: 0,
    scales: { x: { time: false, range: () => [-0.5, items.length - 0.5] }, y: { range: () => [0, Math.max(...items.map((item) => item.max)) * 1.08 || 1] } },
    axes: [axis({ splits: () => x, values: () => items.map((item) => item.name), grid: { show: false }, rotate: items.length > 4 ? -35 : 0, size: items.length > 4 ? 70 : 34 }),
           axis({ size: 74, values: (u, splits) => splits.map(axisFormat), ...(axisFormat === axisBytes ? { incrs: powersOfTwo } : {}) })],
    series: [{}, { fill: () => colour("bar"), paths: boxes(x.map((i) => i - 0.32), x.map((i) => i + 0.32)), points: { show: false } }],
    cursor: { drag: { x: false, y: false } },
    hooks: { draw: [draw] },
    readout: (i) => `${items[i].name}: median ${format(items[i].median)}, ${format(items[i].min)} to ${format(items[i].max)}, ${(items[i].median / items[0].median).toFixed(2)} of ${items[0].name}`,
  });
}

// items: [{name, runs, wall_seconds, cpu_seconds, peak_rss_bytes}]; where a run failed, without figures.
const runMeasures = [["wall_seconds", "Wall time", seconds, seconds], ["cpu_seconds", "Processor time", seconds, seconds],
                     ["peak_rss_bytes", "Peak RSS", bytes, axisBytes]];

function rangeCharts(section, items) {
  const measured = items.filter((item) => item.wall_seconds !== undefined);
  if (measured.length === 0) return;
  const multiples = make("div", { class: "multiples" });
  section.append(multiples);
  for (const [key, title, format, axisFormat] of runMeasures) {
    const part = make("div", {}, make("h3", {}, title));
    multiples.append(part);
    rangeChart(part, `${title} on each allocator`, measured.map((item) => ({ name: item.name, ...item[key] })), format, axisFormat);
  }
}
const spreadColumns = runMeasures.flatMap(([, title]) => ["median", "least", "most"].map((which) => ({ label: `${title}, ${which}, ${title.includes("RSS") ? "bytes" : "s"}` })));
const spreadCells = (item) => runMeasures.flatMap(([key]) => (item[key] === undefined ? ["–", "–", "–"] : ["median", "min", "max"].map((which) => `${item[key][which]}`)));

function compareSection(section, data) {
  const c = data.compare;
  say(section, make("code", {}, c.command.join(" ")), ` on several allocators (${c.file}): bars are medians, lines from the least to the most of all runs. `
    + `Below ${c.allocators[0].name} is better.`);
  rangeCharts(section, c.allocators);
  figures(section, "The program's runs on each allocator", [{ label: "allocator", text: true }, { label: "runs" }, ...spreadColumns, { label: "failure", text: true }],
    c.allocators.map((a) => [a.name, count(a.runs), ...spreadCells(a), a.failure || "–"]));
}

const percentiles = [["p50_ns", "50 %"], ["p90_ns", "90 %"], ["p99_ns", "99 %"], ["p99.9_ns", "99.9 %"], ["p99.99_ns", "99.99 %"], ["longest_ns", "longest"]];

function replaySection(section, data) {
  const { outcomes, file, trace: replayed } = data.replay;
  say(section, `The events of ${replayed} again on each allocator (${file}). Latencies: the time that so many of all calls did not pass; the time of reading the clock is in it. `
    + "Bars are medians, lines from the least to the most of all runs.");
  const calls = ["malloc", "calloc", "aligned_alloc", "realloc", "free"].filter((call) => outcomes.some((o) => o.latencies[call]));
  const wrap = make("div");
  const names = outcomes.filter((o) => calls.some((call) => o.latencies[call])).map((o) => o.name);
  const of = (name, call) => outcomes.find((o) => o.name === name).latencies[call];
  const x = percentiles.map((_, i) => i);
  const values = (call) => names.map((name) => percentiles.map(([key]) => logCount(of(name, call)?.[key])));
  if (names.length > 0) {
    let call = calls[0];
    const paints = names.map((_, i) => () => `oklch(${isDark() ? 0.76 : 0.55} 0.14 ${(250 + i * 360 / names.length) % 360})`);
    section.append(choice("Call", "latency-call", calls.map((name) => [name, name]), (value) => { call = value; plot.setData([x, ...values(call)]); }), wrap);
    const plot = chart(wrap, [x, ...values(call)], {
      label: "Latencies of a call on each allocator", height: 300, start: 2,
      scales: { x: { time: false, range: () => [-0.2, x.length - 0.8] }, y: { range: (u, min, max) => [Math.floor(min ?? 1), Math.ceil(max ?? 3)] } },
      axes: [axis({ size: 34, splits: () => x, values: () => percentiles.map(([, label]) => label) }),
             logAxis(10, (ns) => seconds(ns * 1e-9), { size: 64 })],
      series: [{}, ...paints.map((stroke, i) => ({ stroke, width: 2, dash: [[], [8, 4], [2, 3]][i % 3], points: { show: true, size: 6 } }))],
      cursor: { drag: { x: false, y: false } },
      readout: (i) => `${call}, ${percentiles[i][1]}: ` + names.filter((name) => of(name, call)).map((name) => `${name} ${seconds(of(name, call)[percentiles[i][0]] * 1e-9)}`).join(" · "),
    });
    legend(wrap, names.map((name, i) => [name, paints[i]]));
    figures(section, "Latencies, in nanoseconds", [{ label: "call", text: true }, { label: "allocator", text: true }, { label: "calls" }, ...percentiles.map(([, label]) => ({ label }))],
      calls.flatMap((which) => names.filter((name) => of(name, which)).map((name) => [which, name, count(of(name, which).calls), ...percentiles.map(([key]) => count(of(name, which)[key]))])));
  }
  rangeCharts(section, outcomes);
  figures(section, "The trace's replays on each allocator", [{ label: "allocator", text: true }, { label: "runs" }, ...spreadColumns, { label: "requests that failed" }],
    outcomes.map((o) => [o.name, count(o.runs), ...spreadCells(o), count(o.failed_requests)]));
}
