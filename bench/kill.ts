// Kills a server and its processes at random, many times, also while they write, while its disk fills, its clock steps and
// its database is locked; then trains the same jobs on a server on which nothing dies, and reports what became of the work:
// `node dist/bench/kill.js --count 200 --seed 1`. Ends with status 1 when anything was lost, doubled, failed, left over, or
// came out different.
import { parseArgs } from "node:util";
import { freshSeed } from "../src/domain/random.ts";
import { killAtRandom } from "../test/kills/kill-at-random.ts";

const help = `Kills a server and its processes at random and reports, as JSON, what became of the work.

  --count <count>  how many kills (default 200)
  --seed <seed>    which ones (default: a new one)
  --help           print this
`;

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "200" },
    seed: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(help);
else await run(Number(values.seed ?? freshSeed()), Number(values.count));

async function run(seed: number, count: number): Promise<void> {
  const report = await killAtRandom({ seed, count, log: (line) => process.stderr.write(`${line}\n`) });
  process.stdout.write(`${JSON.stringify({ seed, ...report }, null, 2)}\n`);
  const { lost, doubled, failed, leftOver, different } = report;
  process.exitCode = [lost, doubled, failed, leftOver, different].flat().length === 0 ? 0 : 1;
}
