// What the process had in memory at its peak, and in the course of the run. The rows add up to the peak.
const memoryName = (row) =>
  row.parts.length > 0
    ? `${row.name}: ${row.parts
        .slice(0, 3)
        .map((part) => `${part.name} ${bytes(part.bytes)}`)
        .join(", ")}${row.parts.length > 3 ? ` and ${row.parts.length - 3} more` : ""}`
    : row.name;

function memorySection(section, data) {
  const { memory, timeline: t } = data;
  say(
    section,
    `The process had up to ${bytes(memory.peak_bytes)} in memory (RSS). The table says what that was, at ${seconds(memory.seconds)}. ` +
      (memory.live_bytes > memory.malloc_bytes
        ? `Blocks of ${bytes(memory.live_bytes)} lived then; what of them is not here was untouched so far, or in swap. `
        : ""),
  );
  if (memory.remedy) section.append(make("p", {}, make("strong", {}, "Not malloc's: "), `${memory.remedy}.`));
  section.append(
    make(
      "div",
      { class: "plain holders" },
      table(
        "What was in memory at the peak",
        [{ label: "what", text: true }, { label: "bytes" }, { label: "share" }],
        memory.rows.map((row) => [memoryName(row), bytes(row.bytes), percent(row.bytes, memory.peak_bytes)]),
      ),
    ),
  );
  const { seconds: times, resident_bytes: resident } = memory.over_time;
  if (times.length < 2) return;
  // What lived then: the last point of the timeline before it.
  let point = 0;
  const live = times.map((time) => {
    while (point + 1 < t.seconds.length && t.seconds[point + 1] <= time) ++point;
    return t.live_bytes[point] ?? 0;
  });
  const paints = [() => colour("second"), () => colour("accent")];
  chart(section, [times, resident, live], {
    label: "In memory over time",
    height: 220,
    start: resident.indexOf(Math.max(...resident)),
    scales: { x: { time: false }, y: { range: (u, min, max) => [0, Math.max(max ?? 1, 1) * 1.06] } },
    axes: [timeAxis(), bytesAxis()],
    series: [{}, ...paints.map((stroke) => ({ stroke, width: 2, points: { show: false } }))],
    readout: (p) => `${seconds(times[p])}: ${bytes(resident[p])} in memory, ${bytes(live[p])} of blocks lived`,
  });
  legend(section, [
    ["in memory (RSS)", paints[0]],
    ["live bytes of blocks", paints[1]],
  ]);
  figures(
    section,
    "What was in memory over time",
    [{ label: "seconds" }, { label: "bytes in memory" }, { label: "live bytes" }],
    times.map((time, p) => [digits(time), count(resident[p]), count(live[p])]),
  );
}
