// Charts: uPlot, and beside it a readout that mouse, finger and arrow keys move alike.
const charts = [];
const paperWidth = 660; // of DIN A4 and Letter, less their margins
const axisFont = "12px system-ui, sans-serif";

const axis = (options) => ({
  stroke: () => colour("quiet"),
  font: axisFont,
  grid: { stroke: () => colour("grid"), width: 1 },
  ticks: { stroke: () => colour("grid"), width: 1, size: 4 },
  ...options,
});
const powersOfTwo = Array.from({ length: 63 }, (_, i) => 2 ** i);
const bytesAxis = () => axis({ size: 74, incrs: powersOfTwo, values: (u, splits) => splits.map(axisBytes) });
// Logarithms are taken here and the scale is linear in them: uPlot's own logarithmic scale names no number below 1 reliably.
const logAxis = (base, format, options) =>
  axis({
    incrs: [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20],
    values: (u, splits) => splits.map((power) => (Number.isInteger(power) ? format(base ** power) : null)),
    ...options,
  });
const logCount = (n) => (n > 0 ? Math.log10(n) : null);
const logCountAxis = () => logAxis(10, axisCount, { size: 50, space: 24 });
const logCountScale = { range: (u, min, max) => [-0.15, Math.max(max ?? 0, 0) + 0.5] };
const padded = (u, min, max) => [min - 0.2, max + 0.2];
const timeAxis = () =>
  axis({ size: 34, values: (u, splits) => splits.map((s) => (s === 0 ? "0" : seconds(s))), space: 70 });

// Boxes from `from[i]` to `to[i]` on the x axis, as high as the value: for histograms, whose bins are known.
const boxes = (from, to) => (u, series, first, last) => {
  const fill = new Path2D();
  const floor = u.valToPos(u.scales.y.min, "y", true);
  for (let i = first; i <= last; ++i) {
    const value = u.data[series][i];
    if (value === null) continue;
    const left = u.valToPos(from[i], "x", true);
    const top = u.valToPos(value, "y", true);
    const width = Math.max(u.valToPos(to[i], "x", true) - left - 0.5, 1.5);
    fill.rect(left, top, width, Math.max(floor - top, 1));
  }
  return { fill, stroke: null, clip: null, band: null, gaps: null, flags: 1 };
};

// host gets the chart. options: uPlot's; label: for who cannot see it; start: where the readout begins; readout(i): text;
// chosen(i): a point was clicked, or Enter pressed on it; span(first, last): the points that are in sight have changed.
function chart(host, data, { label, height, start, readout, chosen, span, ...options }) {
  const frame = make("div", {
    class: "chart",
    tabindex: "0",
    role: "slider",
    "aria-label": `${label}. Arrow keys move along it.`,
  });
  const output = make("output", { class: "readout", "aria-hidden": "true" });
  host.append(frame, output);
  const last = data[0].length - 1;
  let at = Math.min(start, last);
  const tell = () => {
    const text = readout(at);
    output.textContent = text;
    frame.setAttribute("aria-valuenow", at);
    frame.setAttribute("aria-valuetext", text);
  };
  frame.setAttribute("aria-valuemin", 0);
  frame.setAttribute("aria-valuemax", last);

  const onPaper = frame.closest(".multiples") ? paperWidth / 3 - 12 : paperWidth;
  const width = () => (printing ? onPaper : Math.max(frame.clientWidth, 200));
  const plot = new uPlot(
    {
      width: width(),
      height,
      legend: { show: false },
      ...options,
      cursor: { drag: { x: true, y: false, setScale: true }, y: false, points: { show: false }, ...options.cursor },
      hooks: {
        ...options.hooks,
        setCursor: [
          (u) => {
            if (u.cursor.idx === null || u.cursor.idx === undefined || u.cursor.left < 0) return;
            at = u.cursor.idx;
            tell();
          },
        ],
        setScale: [
          (u, key) => {
            if (key !== "x" || !span) return;
            const { min, max } = u.scales.x;
            const first = data[0].findIndex((x) => x >= min);
            span(first, data[0].findLastIndex((x) => x <= max));
          },
        ],
      },
    },
    data,
    frame,
  );
  tell();

  const show = (i) => {
    at = Math.max(0, Math.min(last, i));
    const { min, max } = plot.scales.x;
    const x = data[0][at];
    if (x < min || x > max) plot.setScale("x", { min: data[0][0], max: data[0][last] });
    plot.setCursor({ left: plot.valToPos(x, "x"), top: 10 }, false);
    tell();
  };
  const zoom = (factor) => {
    const from = Math.max(0, Math.round(at - (visible() / 2) * factor));
    const to = Math.min(last, Math.round(at + (visible() / 2) * factor));
    if (to > from + 2) plot.setScale("x", { min: data[0][from], max: data[0][to] });
  };
  const visible = () => data[0].filter((x) => x >= plot.scales.x.min && x <= plot.scales.x.max).length;
  const page = Math.max(1, Math.round(last / 10));
  const keys = {
    ArrowLeft: () => show(at - 1),
    ArrowRight: () => show(at + 1),
    ArrowDown: () => show(at - 1),
    ArrowUp: () => show(at + 1),
    PageDown: () => show(at - page),
    PageUp: () => show(at + page),
    Home: () => show(0),
    End: () => show(last),
    "+": () => zoom(0.5),
    "-": () => zoom(2),
    0: () => plot.setScale("x", { min: data[0][0], max: data[0][last] }),
  };
  if (chosen) {
    keys.Enter = () => chosen(at);
    frame.addEventListener("click", () => chosen(at));
  }
  frame.addEventListener("keydown", (event) => {
    const action = keys[event.key];
    if (action === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    action();
  });

  const fit = () => {
    if (plot.width !== width()) plot.setSize({ width: width(), height });
  };
  new ResizeObserver(fit).observe(frame);
  onThemeChange(() => plot.redraw(false, true));
  charts.push(fit);
  return plot;
}

// drawAll(): draws what was not drawn yet.
function startPrinting(drawAll) {
  const print = (now) => () => {
    printing = now;
    applyTheme();
    if (now) drawAll();
    for (const fit of charts) fit();
    // Short tables are printed, open; long ones are not.
    for (const details of document.querySelectorAll("main details:not(.stack)")) {
      if (now) details.dataset.wasOpen = details.open;
      details.open = now || details.dataset.wasOpen === "true";
    }
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
}
