// What to change: each finding with its place, what it would save, and what helps.
const findingsAtOnce = 10;

const fileOf = (place) => place.source.split("/").at(-1);
// The name alone and the file alone; the whole of both when the pointer rests on it.
const callName = (call) => `${call.function || call.name}${call.source ? ` at ${fileOf(call)}` : ""}`;
const callCode = (call) =>
  make("code", { title: call.source ? `${call.name} at ${call.source}` : call.name }, callName(call));

function findingItem(finding) {
  const place = make("p", { class: "place" }, callCode(finding.site));
  if (finding.through) place.append(", through ", make("code", {}, finding.through));
  for (const other of finding.also) place.append(", and ", callCode(other));
  finding.called_by.forEach((caller, i) => place.append(i === 0 ? "; called by " : " from ", callCode(caller)));
  const code = make("details", {}, make("summary", {}, "The change in code"));
  const region = (label, text) => make("pre", { tabindex: "0", role: "region", "aria-label": label }, text);
  for (const [label, text] of [
    ["With the standard library", finding.standard],
    ["With ashlar", finding.ashlar],
  ])
    if (text) code.append(make("h4", {}, label), region(label, text));
  return make(
    "li",
    {},
    make("h3", {}, finding.title),
    make("p", { class: "saving" }, `saves up to ${finding.savings}`),
    place,
    make("p", {}, make("strong", {}, finding.sure === "seen" ? "Seen: " : "Likely: "), finding.evidence),
    make("p", {}, finding.remedy),
    ...(finding.standard || finding.ashlar ? [code] : []),
  );
}

function findingsSection(section, data) {
  const list = data.findings.findings;
  if (list.length === 0) {
    say(section, "Nothing was found: no call site wastes as much as a hundredth of this run.");
    return;
  }
  say(
    section,
    "Lines of the program that could do with less memory or fewer allocations. The first is worth the most. " +
      "What a change saves is an estimate from this run; try it, and record again." +
      (data.findings.times ? ` ${data.findings.times.sentence}` : ""),
  );
  const items = list.map(findingItem);
  section.append(make("ol", { class: "findings" }, ...items.slice(0, findingsAtOnce)));
  const rest = items.slice(findingsAtOnce);
  if (rest.length === 0) return;
  section.append(
    make(
      "details",
      {},
      make("summary", {}, `${count(rest.length)} more`),
      make("ol", { class: "findings", start: `${findingsAtOnce + 1}` }, ...rest),
    ),
  );
}
