// Light or dark: as the system says, or as the reader chose; always light on paper.
const darkSystem = matchMedia("(prefers-color-scheme: dark)");
const themeListeners = [];
const onThemeChange = (listener) => themeListeners.push(listener);
const isDark = () => document.documentElement.dataset.theme === "dark";
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Of the i-th of n layers, from small blocks to large. Neighbours differ in lightness, too.
function layerColour(i, n) {
  const at = n > 1 ? i / (n - 1) : 0;
  const lightness = (isDark() ? 0.5 : 0.56) + 0.24 * at + (i % 2 ? 0.055 : 0);
  return `oklch(${lightness.toFixed(3)} 0.125 ${(275 - 215 * at).toFixed(1)})`;
}

let printing = false;
let chosenTheme = "system";
try {
  chosenTheme = localStorage.getItem("ashlar-report-theme") || "system";
} catch {
  /* a page from a file may have no storage */
}

function applyTheme() {
  const theme = printing ? "light" : chosenTheme === "system" ? (darkSystem.matches ? "dark" : "light") : chosenTheme;
  document.documentElement.dataset.theme = theme;
  for (const listener of themeListeners) listener();
}

function startTheme() {
  radios(
    byId("theme"),
    "theme",
    [
      ["system", "as the system"],
      ["light", "light"],
      ["dark", "dark"],
    ],
    chosenTheme,
    (value) => {
      chosenTheme = value;
      try {
        localStorage.setItem("ashlar-report-theme", value);
      } catch {
        /* as above */
      }
      applyTheme();
    },
  );
  darkSystem.addEventListener("change", applyTheme);
  applyTheme();
}
