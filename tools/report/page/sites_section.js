// Call sites as a table: by call, function, file, module or thread; sorted by any column; searched.
// data.sites: {sites: [{name, function, source, module}], rows: [{site: index, thread, ...counts}]}.
// [member, heading, format, as `ashlar diff --by` has it]
const siteFigures = [
  ["bytes_at_peak", "at the peak", bytes, "peak"],
  ["bytes_at_end", "held at the end", bytes, "held"],
  ["bytes", "allocated", bytes, "allocated"],
  ["births", "allocations", count, "allocations"],
  ["temporaries", "temporaries", count, "temporaries"],
];

// Returns: the name of the program that a trace is of; without one, of the trace.
const programName = ({ program, arguments: words }, file) => lastPart(program || words[0] || file);
const lastPart = (path) => path.split("/").at(-1);
const withoutLine = (source) => source.replace(/:\d+$/, "");
const siteName = (site) => site.function || site.name;
const siteText = (site) => `${site.name} ${site.source} ${site.module}`;
// What a row is in each grouping, and its label (groupedRows).
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

const groupChoices = (groups) => Object.entries(groups).map(([key, [label]]) => [key, label]);

function sitesSection(section, data) {
  const { sites, rows } = data.sites;
  const totals = siteFigures.map(([key]) => rows.reduce((sum, row) => sum + row[key], 0));
  say(
    section,
    "The lines of the program that hold memory, and what each has asked for. A line of the C or C++ library counts for the " +
      "line that called it. A temporary is a block that its thread frees by its very next call. A column's heading sorts by it.",
  );
  groupedTable(section, {
    id: "sites",
    caption: "Call sites and what they hold",
    placeholder: "function, file, thread 2",
    groups: groupChoices(siteGroups),
    columns: siteFigures.map(([, label, format], i) => ({
      label,
      text: (row) => format(row.values[i]),
      whole: (row) => count(row.values[i]),
      weight: (row) => row.values[i],
      share: (row) => (totals[i] > 0 ? (100 * row.values[i]) / totals[i] : null),
    })),
    rowsOf: (by, words) =>
      groupedRows(rows, words, {
        textOf: (row) => `${siteText(sites[row.site])} thread ${row.thread}`,
        labelOf: (row) => siteGroups[by][1](sites[row.site], row),
        valuesOf: (row) => siteFigures.map(([key]) => row[key]),
      }),
    told: (found, groups, i) => {
      const [, label, format] = siteFigures[i];
      const sum = found.reduce((all, row) => all + row.values[i], 0);
      return `${groups}: ${label} ${format(sum)}, ${percent(sum, totals[i])} of the program`;
    },
  });
}
