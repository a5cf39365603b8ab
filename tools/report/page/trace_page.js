// The page of one trace, or of a folder of traces.
// Returns: what main.js puts together.
function tracePage(written) {
  const { tree } = written; // of a folder; of one trace there is none
  const chosenPid = Number(new URLSearchParams(location.search).get("process"));
  const data = tree ? written.pages.find((page) => page.trace.pid === chosenPid) || written.pages[0] : written;
  const { trace, peak, memory } = data;
  const chosenProcess = tree && tree.processes.find((process) => process.pid === trace.pid);

  const about = [];
  const { arguments: words } = chosenProcess || trace;
  if (words.length > 0) about.push(make("code", {}, words.join(" ")), make("br"));
  // A trace may say anything; what no calendar has is left out.
  const started = new Date(trace.started * 1000);
  about.push(
    make("code", {}, trace.file),
    trace.started > 0 && !Number.isNaN(started.getTime())
      ? `, recorded ${started.toISOString().slice(0, 16).replace("T", " ")} UTC`
      : "",
  );

  const refused = trace.refused_requests > 0 ? `, and ${count(trace.refused_requests)} more that pools refused` : "";
  const ran = trace.births > 0;
  return {
    data,
    program: chosenProcess ? processName(chosenProcess) : programName(trace, trace.file),
    subject: "and its heap",
    about,
    warnings: [
      trace.warning && `The trace is not whole: ${trace.warning}.`,
      trace.lost_events > 0 && `${count(trace.lost_events)} events were lost while recording.`,
      trace.missing_deaths > 0 &&
        `${count(trace.missing_deaths)} deaths are missing: their blocks end where their address was given out again.`,
      trace.unknown_deaths > 0 &&
        `Deaths of blocks from before the recording: ${count(trace.unknown_deaths)}; they are in no figure.`,
    ],
    tiles: [
      ...(memory
        ? [
            [
              "Peak RSS",
              bytes(memory.peak_bytes),
              (memory.limit_bytes > 0 ? `of the control group's ${bytes(memory.limit_bytes)}; ` : "") +
                (memory.rows.length > 0 ? `${bytes(memory.malloc_bytes)} of it malloc's` : "what it is was not recorded"),
            ],
          ]
        : []),
      [
        "Peak",
        bytes(peak.live_bytes),
        `${count(peak.live_bytes)} bytes in ${count(peak.live_blocks)} blocks, at ${seconds(peak.seconds)}`,
      ],
      ["Run time", seconds(trace.seconds), `${count(trace.threads)} ${trace.threads === 1 ? "thread" : "threads"}`],
      ["Allocations", count(trace.births), `${bytes(trace.birth_bytes)} in all${refused}`],
      ["Frees", count(trace.deaths), `${count(trace.deaths_in_another_thread)} by another thread than allocated`],
      ["Left at the end", bytes(trace.live_bytes_at_end), `${count(trace.live_blocks_at_end)} blocks`],
    ],
    sections: {
      processes: tree && ((section) => processesSection(section, written, trace.pid)),
      memory: memory && memory.rows.length > 0 && memorySection,
      findings: ran && data.findings && findingsSection,
      pins: ran && data.pins && pinsSection,
      sites: ran && data.sites && sitesSection,
      calls: ran && data.call_sites && callsSection,
      held: ran && data.timeline.held && heldSection,
      replay: data.replay && replaySection,
      live: ran && liveSection,
      sizes: ran && sizesSection,
      lifetimes: ran && lifetimesSection,
      slack: ran && slackSection,
      classes: ran && classesSection,
    },
  };
}
