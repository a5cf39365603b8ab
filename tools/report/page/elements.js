// Elements of the page. All text goes in as text: names come from traces, which anybody may have written.
const byId = (id) => document.getElementById(id);

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// columns: [{label, text: true where it is no number}]; rows: the cells' texts.
function table(caption, columns, rows) {
  const cell = (kind, of, i) => make(kind, columns[i].text ? { class: "text" } : {}, of);
  const head = make(
    "tr",
    {},
    ...columns.map((column, i) => {
      const th = cell("th", column.label, i);
      th.scope = "col";
      return th;
    }),
  );
  const body = make("tbody");
  for (const row of rows) body.append(make("tr", {}, ...row.map((text, i) => cell("td", text, i))));
  return make("table", {}, make("caption", {}, caption), make("thead", {}, head), body);
}

// The table behind a chart. A long one scrolls, and is not printed.
function figures(host, caption, columns, rows) {
  const scroll = make(
    "div",
    { class: rows.length > 60 ? "scroll long" : "scroll", tabindex: "0", role: "region", "aria-label": caption },
    table(caption, columns, rows),
  );
  host.append(
    make(
      "details",
      {},
      make("summary", {}, `The figures (${count(rows.length)} ${rows.length === 1 ? "row" : "rows"})`),
      scroll,
    ),
  );
}

function radios(fieldset, name, choices, chosen, changed) {
  for (const [value, label] of choices) {
    const input = make("input", { type: "radio", name, value });
    input.checked = value === chosen;
    input.addEventListener("change", () => changed(value));
    fieldset.append(make("label", {}, input, label));
  }
  return fieldset;
}

function choice(legend, name, choices, changed, chosen = choices[0][0]) {
  const fieldset = make("fieldset", { class: "choice" }, make("legend", {}, legend));
  return radios(fieldset, name, choices, chosen, changed);
}

// items: [label, colour as a function, since the theme may change]
function legend(host, items) {
  const swatches = items.map(([, colour]) => [make("span", { class: "swatch" }), colour]);
  const paint = () =>
    swatches.forEach(([swatch, colour]) => {
      swatch.style.background = colour();
    });
  paint();
  onThemeChange(paint);
  host.append(make("ul", { class: "legend" }, ...items.map(([label], i) => make("li", {}, swatches[i][0], label))));
}
