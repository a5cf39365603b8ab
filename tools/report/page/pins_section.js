// Pages that few bytes keep: a picture of the heap's pages over time, and who holds those that are
// hollow.
const pinHues = [25, 250, 145, 310, 90, 200, 345];

// Returns: the colour of a cell of the picture.
function cellColour(cell) {
  if (cell === ".") return colour("page");
  if (cell === "+") return colour("line");
  if (cell === "*") return colour("quiet");
  if (cell === "o") return colour("bar");
  const i = cell.charCodeAt(0) - 97;
  const lightness = (isDark() ? 0.66 : 0.58) + (i % 2 ? 0.1 : 0);
  return `oklch(${lightness.toFixed(2)} 0.16 ${pinHues[i]})`;
}

// Draws the cells row by row, as many to a row as the width has room for.
function drawCells(canvas, cells) {
  const width = canvas.parentElement.clientWidth;
  if (width === 0) return;
  const side = width < 600 ? 7 : 10;
  const columns = Math.floor(width / side);
  const rows = Math.ceil(cells.length / columns);
  const scale = window.devicePixelRatio || 1;
  canvas.width = columns * side * scale;
  canvas.height = rows * side * scale;
  canvas.style.height = `${rows * side}px`;
  canvas.style.width = `${columns * side}px`;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const colours = new Map();
  [...cells].forEach((cell, i) => {
    if (!colours.has(cell)) colours.set(cell, cellColour(cell));
    pen.fillStyle = colours.get(cell);
    pen.fillRect((i % columns) * side, Math.floor(i / columns) * side, side - 1, side - 1);
  });
}

function pinsSection(section, data) {
  const { pins } = data;
  const { moment, moments, holders } = pins;
  const when = moment.is_end ? "At the end" : `At ${seconds(moment.seconds)}`;
  const where = pins.placed_by === "ashlar" ? "If ashlar's heap placed each block: " : "";
  const group = pins.pages_a_cell > 1 ? `${count(pins.pages_a_cell)} pages` : "a page";
  say(
    section,
    `${where}${when}, ${bytes(moment.pinned_bytes)} were pinned: so many bytes did not live in ` +
      `${count(moment.hollow_pages)} hollow pages, of which less than a quarter did. All pages with ` +
      `a live byte: ${bytes(moment.held_bytes)}. A cell is ${group} of 4 KiB, by address. ` +
      "Its colour is the line whose blocks keep hollow pages.",
  );

  const canvas = make("canvas", { role: "img" });
  const output = make("output", { class: "readout" });
  const slider = make("input", {
    type: "range",
    min: "0",
    max: `${moments.length - 1}`,
    value: `${Math.min(moment.number, moments.length - 1)}`,
    "aria-label": "Moment of the run",
  });
  const draw = () => {
    const now = moments[Number(slider.value)];
    const text =
      `${seconds(now.seconds)}: ${bytes(now.live_bytes)} live ` +
      `in pages of ${bytes(now.held_bytes)}; ` +
      `${count(now.hollow_pages)} hollow pages, ${bytes(now.pinned_bytes)} pinned`;
    canvas.setAttribute("aria-label", `The pages at ${text}`);
    slider.setAttribute("aria-valuetext", text);
    output.textContent = text;
    drawCells(canvas, now.cells);
  };
  slider.addEventListener("input", draw);
  section.append(
    make("label", { class: "moment" }, "Moment", slider),
    output,
    make("div", { class: "cells" }, canvas),
  );
  const shown = new Set(moments.flatMap((m) => [...m.cells]));
  legend(
    section,
    [
      ...holders.map((call, i) => [String.fromCharCode(97 + i), callName(call)]),
      ["o", "another line"],
      ["*", "several lines"],
      ["+", "in use"],
      [".", "free"],
    ]
      .filter(([cell]) => shown.has(cell))
      .map(([cell, name]) => [name, () => cellColour(cell)]),
  );
  onThemeChange(draw);
  new ResizeObserver(draw).observe(canvas.parentElement);

  section.append(make("h3", {}, `Pinned bytes by call path, ${when.toLowerCase()}`));
  const measures = [
    ["pinned_bytes", "pinned bytes", bytes],
    ["blocks", "blocks in hollow pages", (n) => `${count(n)} blocks`],
  ];
  flame(section, pins.tree, measures, "pins-measure");
  figures(
    section,
    `Lines that keep hollow pages, ${when.toLowerCase()}`,
    [
      { label: "line", text: true },
      { label: "pinned bytes" },
      { label: "pages alone" },
      { label: "live bytes there" },
      { label: "blocks there" },
    ],
    pins.lines.map((line) => [
      line.source ? `${line.name} at ${line.source}` : line.name,
      count(line.pinned_bytes),
      count(line.pages_alone),
      count(line.live_bytes),
      count(line.blocks),
    ]),
  );
}
