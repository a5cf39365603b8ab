// Call sites as a flame graph: callers above, callees below, as wide as what they allocated.
// Nodes: {name, brief: the name without types, source: "file:line" or "", parent: index, ...counts}; node 0 is the program;
// parents come before children.
function flame(host, nodes, measures, name = "flame-measure") {
  const children = nodes.map(() => []);
  nodes.forEach((node, i) => {
    if (i > 0) children[node.parent].push(i);
  });
  let measure = measures[0][0];
  let root = 0;
  const frame = make("div", {
    class: "flame",
    role: "group",
    "aria-label": "Flame graph. Arrow keys move, Enter enlarges a call, Escape goes back.",
  });
  const output = make("output", { class: "readout" });
  const format = () => measures.find(([key]) => key === measure)[2];

  const named = (node) => (node.source ? `${node.name} at ${node.source}` : node.name);
  // A box has room for a file's name, not for its folders.
  const label = (node) => (node.source ? `${node.brief} ${node.source.split("/").pop()}` : node.brief);
  const path = (i) => (i === 0 ? [] : [...path(nodes[i].parent), nodes[i].brief]);
  const tell = (i) => {
    const node = nodes[i];
    output.replaceChildren(
      make("strong", {}, named(node)),
      ` ${format()(node[measure])}, ${percent(node[measure], nodes[0][measure])} of the program. `,
      make("span", { class: "path hint" }, path(i).join(" › ")),
    );
  };
  const hue = (name) => {
    let hash = 0;
    for (const c of name) hash = (hash * 31 + c.codePointAt(0)) % 997;
    return 35 + (hash % 60);
  };

  let shown = new Map(); // node -> button
  const draw = (focus) => {
    shown = new Map();
    frame.replaceChildren();
    let depth = 0;
    const place = (i, left, width, row) => {
      if (width < 0.15) return;
      depth = Math.max(depth, row + 1);
      const node = nodes[i];
      const button = make(
        "button",
        {
          type: "button",
          tabindex: "-1",
          title: `${named(node)}: ${format()(node[measure])}`,
          "aria-label": `${named(node)}, ${format()(node[measure])}, ${percent(node[measure], nodes[0][measure])}`,
        },
        label(node),
      );
      Object.assign(button.style, {
        left: `${left}%`,
        width: `${width}%`,
        top: `${row * 21}px`,
        background: i === 0 ? "oklch(0.85 0.02 250)" : `oklch(0.83 0.09 ${hue(node.name)})`,
      });
      button.addEventListener("click", () => {
        root = i === root ? nodes[i].parent : i;
        draw(i);
      });
      button.addEventListener("focus", () => tell(i));
      button.addEventListener("mouseenter", () => tell(i));
      frame.append(button);
      shown.set(i, button);
      let at = left;
      for (const child of [...children[i]].sort((a, b) => nodes[b][measure] - nodes[a][measure])) {
        const part = node[measure] > 0 ? (width * nodes[child][measure]) / node[measure] : 0;
        place(child, at, part, row + 1);
        at += part;
      }
    };
    place(root, 0, 100, 0);
    frame.style.height = `${depth * 21}px`;
    const first = shown.get(focus) || shown.get(root);
    first.tabIndex = 0;
    tell(shown.has(focus) ? focus : root);
    if (focus !== undefined) first.focus();
  };

  frame.addEventListener("keydown", (event) => {
    const here = [...shown].find(([, button]) => button === document.activeElement);
    if (here === undefined) return;
    const i = here[0];
    const inOrder = (list) =>
      list.filter((child) => shown.has(child)).sort((a, b) => nodes[b][measure] - nodes[a][measure]);
    const siblings = i === root ? [i] : inOrder(children[nodes[i].parent]);
    const to = {
      ArrowDown: () => inOrder(children[i])[0],
      ArrowUp: () => (i === root ? undefined : nodes[i].parent),
      ArrowRight: () => siblings[siblings.indexOf(i) + 1],
      ArrowLeft: () => siblings[siblings.indexOf(i) - 1],
    }[event.key];
    if (event.key === "Escape") {
      event.preventDefault();
      root = nodes[root].parent;
      draw(i);
    } else if (to !== undefined) {
      event.preventDefault();
      const next = to();
      if (next === undefined) return;
      here[1].tabIndex = -1;
      shown.get(next).tabIndex = 0;
      shown.get(next).focus();
    }
  });

  host.append(
    choice(
      "Wide as",
      name,
      measures.map(([key, label]) => [key, label]),
      (value) => {
        measure = value;
        draw();
      },
    ),
    frame,
    output,
  );
  draw();
}
