// Call sites as a table: by call, function, file, module or thread; sorted by any column; searched.
// data.sites: {sites: [{name, function, source, module}], rows: [{site: index, thread, ...counts}]}.
const sitesAtOnce = 50;
const siteFigures = [
  ["bytes_at_peak", "at the peak", bytes],
  ["bytes_at_end", "held at the end", bytes],
  ["bytes", "allocated", bytes],
  ["births", "allocations", count],
  ["temporaries", "temporaries", count],
];

const lastPart = (path) => path.split("/").at(-1);
const withoutLine = (source) => source.replace(/:\d+$/, "");
const siteName = (site) => site.function || site.name;
// What a row is called in each grouping: {key, name, where: beside the name, whole: when the pointer rests on it}.
const siteGroups = {
  site: [
    "call site",
    (site, row) => ({
      key: row.site,
      name: siteName(site),
      where: site.source ? lastPart(site.source) : site.function && lastPart(site.module),
      whole: site.source ? `${site.name} at ${site.source}` : site.name,
    }),
  ],
  function: [
    "function",
    (site) => ({
      key: site.name,
      name: siteName(site),
      where: site.function && lastPart(site.module),
      whole: site.name,
    }),
  ],
  file: [
    "file",
    (site) =>
      site.source
        ? { key: withoutLine(site.source), name: lastPart(withoutLine(site.source)), whole: withoutLine(site.source) }
        : { key: `\n${site.module}`, name: "unknown files", where: lastPart(site.module), whole: site.module },
  ],
  module: [
    "module",
    (site) => ({ key: site.module, name: lastPart(site.module) || "no file", whole: site.module }),
  ],
  thread: ["thread", (site, row) => ({ key: row.thread, name: `thread ${row.thread}` })],
};

// Returns: a row for each group with the sums of its figures.
function groupedSites({ sites, rows }, by, words) {
  const groups = new Map();
  for (const row of rows) {
    const site = sites[row.site];
    const text = `${site.name} ${site.source} ${site.module} thread ${row.thread}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    const label = siteGroups[by][1](site, row);
    let group = groups.get(label.key);
    if (!group) groups.set(label.key, (group = { ...label, sums: siteFigures.map(() => 0) }));
    siteFigures.forEach(([key], i) => (group.sums[i] += row[key]));
  }
  return [...groups.values()];
}

function sitesSection(section, data) {
  const totals = siteFigures.map(([key]) => data.sites.rows.reduce((sum, row) => sum + row[key], 0));
  say(
    section,
    "The lines of the program that hold memory, and what each has asked for. A line of the C or C++ library counts for the " +
      "line that called it. A temporary is a block that its thread frees by its very next call. A column's heading sorts by it.",
  );
  let by = "site";
  let sorted = 0; // the column of siteFigures; -1: by name
  let rising = false;
  let shown = sitesAtOnce;

  const search = make("input", { type: "search", placeholder: "function, file, thread 2", autocomplete: "off" });
  const told = make("output", { class: "hint" });
  const more = make("button", { type: "button", class: "more" });
  const body = make("tbody", { role: "rowgroup" });
  const name = make("button", { type: "button" });
  const headings = [name, ...siteFigures.map(([, label]) => make("button", { type: "button" }, label))];
  const cells = headings.map((button, i) =>
    make("th", { scope: "col", role: "columnheader", class: i === 0 ? "text" : "" }, button),
  );

  const line = (group) => {
    const label = make("td", { class: "text", role: "cell", title: group.whole || group.name }, group.name);
    if (group.where) label.append(" ", make("span", { class: "hint" }, group.where));
    const figures = group.sums.map((sum, i) => {
      const [, heading, format] = siteFigures[i];
      const cell = make("td", { role: "cell", "data-label": heading, title: count(sum) }, format(sum));
      if (i === sorted && totals[i] > 0) {
        cell.className = "share";
        cell.style.setProperty("--share", `${(100 * sum) / totals[i]}%`);
      }
      return cell;
    });
    return make("tr", { role: "row" }, label, ...figures);
  };

  const draw = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const groups = groupedSites(data.sites, by, words);
    const sign = rising ? 1 : -1;
    groups.sort((a, b) => sign * (sorted < 0 ? a.name.localeCompare(b.name) : a.sums[sorted] - b.sums[sorted]));
    body.replaceChildren(...groups.slice(0, shown).map(line));
    cells.forEach((cell, i) => {
      if (i === sorted + 1) cell.setAttribute("aria-sort", rising ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
    name.textContent = siteGroups[by][0];
    const [, heading, format] = siteFigures[Math.max(sorted, 0)];
    const sum = groups.reduce((all, group) => all + group.sums[Math.max(sorted, 0)], 0);
    told.textContent =
      `${count(groups.length)} ${siteGroups[by][0]}${groups.length === 1 ? "" : "s"}: ${heading} ${format(sum)}, ` +
      `${percent(sum, totals[Math.max(sorted, 0)])} of the program`;
    more.hidden = groups.length <= shown;
    more.textContent = `Show all ${count(groups.length)}`;
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
      choice(
        "By",
        "sites-by",
        Object.entries(siteGroups).map(([key, [label]]) => [key, label]),
        (value) => {
          by = value;
          draw();
        },
      ),
    ),
    told,
    make(
      "table",
      { class: "sites", role: "table" },
      make("caption", {}, "Call sites and what they hold"),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...cells)),
      body,
    ),
    more,
  );
  draw();
}
