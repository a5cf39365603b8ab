// Time of the same program with two allocators, run in turn under Node.js. Usage: node malloc_speed.mjs A B [ROUNDS]
// Prints the median of the ratios A / B of each turn, and the size of both files.
import { readFile, stat } from 'node:fs/promises';
import { WASI } from 'node:wasi';

const [a, b, rounds = '15'] = process.argv.slice(2);
const modules = await Promise.all([a, b].map(async (file) => WebAssembly.compile(await readFile(file))));

async function milliseconds(module) {
  const wasi = new WASI({ version: 'preview1', args: ['program'], returnOnExit: true });
  const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport });
  const begin = performance.now();
  if (wasi.start(instance) !== 0) throw new Error('the program failed');
  return performance.now() - begin;
}

const ratios = [];
for (let i = 0; i < Number(rounds); ++i) {
  const first = await milliseconds(modules[0]);
  ratios.push(first / await milliseconds(modules[1]));
}
ratios.sort((x, y) => x - y);
const bytes = await Promise.all([a, b].map(async (file) => (await stat(file)).size));
console.log(`time ${ratios[Math.floor(ratios.length / 2)].toFixed(2)} (${ratios[0].toFixed(2)} to ` +
  `${ratios.at(-1).toFixed(2)} in ${rounds} turns); bytes ${bytes[0]} and ${bytes[1]}`);
