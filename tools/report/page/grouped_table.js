// A table of groups of call sites: sorted by any column, searched, grouped as the reader chooses.
const rowsAtOnce = 50;

// Of the items whose text has all words. labelOf(item): {key: of its group, name, where: beside the
// name, whole: when the pointer rests on it, calls: its stack's lines}.
// Returns: a row for each group, its label with the sums of its values.
function groupedRows(items, words, { textOf, labelOf, valuesOf }) {
  const groups = new Map();
  for (const item of items) {
    const text = textOf(item).toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    const label = labelOf(item);
    const values = valuesOf(item);
    const group = groups.get(label.key);
    if (group) values.forEach((value, i) => (group.values[i] += value));
    else groups.set(label.key, { ...label, values: [...values] });
  }
  return [...groups.values()];
}

// groups: [[key, what a row is]]. rowsOf(group, words): rows of groupedRows. told(rows, "3 files",
// column): the line above the table. columns: [{label, text(row), whole(row): when the pointer rests on
// it, weight(row): what it sorts by, share(row, rows): percent of a bar behind it, or null}]. sorted:
// the column that it is sorted by at first. controls: elements beside the search.
// Returns: a function that draws it again.
function groupedTable(section, { id, caption, placeholder, groups, columns, rowsOf, told, sorted = 0, controls = [] }) {
  let by = groups[0][0];
  let rising = false;
  let shown = rowsAtOnce;
  const what = () => groups.find(([key]) => key === by)[1];

  const search = make("input", { type: "search", placeholder, autocomplete: "off" });
  const output = make("output", { class: "hint" });
  const more = make("button", { type: "button", class: "more" });
  const body = make("tbody", { role: "rowgroup" });
  const name = make("button", { type: "button" });
  const headings = [name, ...columns.map((column) => make("button", { type: "button" }, column.label))];
  const cells = headings.map((button, i) =>
    make("th", { scope: "col", role: "columnheader", class: i === 0 ? "text" : "" }, button),
  );

  const line = (row, rows) => {
    const label = make("td", { class: "text", role: "cell", title: row.whole || row.name }, row.name);
    if (row.where) label.append(" ", make("span", { class: "hint" }, row.where));
    if (row.calls)
      label.append(
        make(
          "details",
          { class: "stack" },
          make("summary", {}, `${count(row.calls.length)} ${row.calls.length === 1 ? "call" : "calls"}`),
          make("ol", {}, ...row.calls.map((call) => make("li", {}, call))),
        ),
      );
    const figures = columns.map((column, i) => {
      const about = { role: "cell", "data-label": column.label, title: column.whole(row) };
      const cell = make("td", about, column.text(row));
      const share = i === sorted && column.share ? column.share(row, rows) : null;
      if (share !== null) {
        cell.className = "share";
        cell.style.setProperty("--share", `${share}%`);
      }
      return cell;
    });
    return make("tr", { role: "row" }, label, ...figures);
  };

  // `sorted` is -1 where it is sorted by name.
  const difference = (a, b) =>
    sorted < 0 ? a.name.localeCompare(b.name) : columns[sorted].weight(a) - columns[sorted].weight(b);
  const draw = () => {
    const rows = rowsOf(by, search.value.toLowerCase().split(/\s+/).filter(Boolean));
    const sign = rising ? 1 : -1;
    rows.sort((a, b) => sign * difference(a, b) || 0);
    body.replaceChildren(...rows.slice(0, shown).map((row) => line(row, rows)));
    cells.forEach((cell, i) => {
      if (i === sorted + 1) cell.setAttribute("aria-sort", rising ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
    name.textContent = what();
    output.textContent = told(rows, `${count(rows.length)} ${what()}${rows.length === 1 ? "" : "s"}`, Math.max(sorted, 0));
    more.hidden = rows.length <= shown;
    more.textContent = `Show all ${count(rows.length)}`;
  };

  headings.forEach((button, i) =>
    button.addEventListener("click", () => {
      rising = sorted === i - 1 ? !rising : i === 0;
      sorted = i - 1;
      draw();
    }),
  );
  search.addEventListener("input", draw);
  more.addEventListener("click", () => {
    shown = Infinity;
    const next = body.rows.length;
    draw();
    body.rows[next].tabIndex = -1; // the button is gone
    body.rows[next].focus();
  });

  section.append(
    make(
      "div",
      { class: "controls" },
      make("label", { class: "search" }, "Search ", search),
      choice("By", `${id}-by`, groups, (value) => {
        by = value;
        draw();
      }),
      ...controls,
    ),
    output,
    make(
      "table",
      { class: "sites", role: "table" },
      make("caption", {}, caption),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...cells)),
      body,
    ),
    more,
  );
  draw();
  return draw;
}
