// Kills a server and its processes at random, many times, and reports what became of the work:
// `node dist/bench/kill.js --count 200 --seed 1`. Ends with status 1 when anything was lost, doubled, failed or left over.
import { parseArgs } from "node:util";
import { freshSeed } from "../src/domain/random.ts";
import { killAtRandom } from "../test/kills.ts";

const { values } = parseArgs({
  options: { count: { type: "string", default: "200" }, seed: { type: "string" } },
});
const seed = Number(values.seed ?? freshSeed());
const report = await killAtRandom({
  seed,
  count: Number(values.count),
  log: (line) => process.stderr.write(`${line}\n`),
});
process.stdout.write(`${JSON.stringify({ seed, ...report }, null, 2)}\n`);
const { lost, doubled, failed, leftOver } = report;
process.exitCode = [lost, doubled, failed, leftOver].every((list) => list.length === 0) ? 0 : 1;
