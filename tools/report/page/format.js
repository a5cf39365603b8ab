// Figures as people read them. Bytes in powers of 1024, as the ashlar command prints them.
const count = (n) => n.toLocaleString("en-US");
const significant = (n) =>
  (n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

function bytes(n) {
  if (n < 1024) return `${significant(n)} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let unit = -1;
  do {
    n /= 1024;
    ++unit;
  } while (n >= 1023.95 && unit + 1 < units.length);
  return `${n >= 100 ? n.toFixed(0) : n.toFixed(1)} ${units[unit]}`;
}

function seconds(s) {
  if (s === 0) return "0 s";
  for (const [unit, factor] of [
    ["ns", 1e9],
    ["µs", 1e6],
    ["ms", 1e3],
  ]) {
    if (s * factor < 999.5) return `${significant(s * factor)} ${unit}`;
  }
  return `${significant(s)} s`;
}

// In tables: enough digits to compute with.
const digits = (n) => `${Number(n.toPrecision(7))}`;

// On an axis: the same without superfluous zeros.
const axisBytes = (n) => bytes(n).replace(".0 ", " ");
const axisCount = (n) => (n >= 1e9 ? `${n / 1e9}G` : n >= 1e6 ? `${n / 1e6}M` : n >= 1e3 ? `${n / 1e3}k` : `${n}`);
const signed = (n, format) => `${n < 0 ? "−" : "+"}${format(Math.abs(n))}`;
const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "–");

// "3264 B" -> "3,264 B", "14714944 B" -> "14.0 MiB": a class's name where there is little room.
function className(name) {
  const size = /^(\d+) B$/.exec(name);
  if (!size) return name;
  return Number(size[1]) < 10240 ? `${count(Number(size[1]))} B` : axisBytes(Number(size[1]));
}
