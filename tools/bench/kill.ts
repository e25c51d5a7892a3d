// Kills a server and its child processes at random times: during writes, with a full disk, after a clock step or with a
// locked database. Then runs the same jobs on an undisturbed server and compares the results. Exits with status 1 if
// anything was lost, duplicated, failed, left over or different.
// - 200 kills: `node dist/tools/bench/kill.js --count 200 --seed 1`
// - A kill every 0.2 to 2 s for ten minutes, like a service that crashes in a loop:
//   `node dist/tools/bench/kill.js --seconds 600 --pause 0.2-2 --usual`
import { parseArgs } from "node:util";
import { freshSeed } from "../../src/base/domain/random.ts";
import { killAtRandom } from "../../test/kills/kill-at-random.ts";

const help = `Kills a server and its child processes at random times. Prints the fate of all work as JSON.

  --count <count>      number of kills (default 200)
  --seconds <seconds>  instead of --count: duration of the run
  --pause <from-to>    seconds between two kills (default 0.1-1.6)
  --usual              keep the server's default retry settings for jobs (attempts and back-off)
  --seed <seed>        seed of the kills (default: random)
  --help               print this help
`;

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "200" },
    seconds: { type: "string" },
    pause: { type: "string", default: "0.1-1.6" },
    usual: { type: "boolean", default: false },
    seed: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(help);
else await run(Number(values.seed ?? freshSeed()));

async function run(seed: number): Promise<void> {
  const [from = NaN, to = NaN] = values.pause.split("-").map((seconds) => 1000 * Number(seconds));
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const until =
    values.seconds === undefined ? { count: Number(values.count) } : { seconds: Number(values.seconds) };
  const report = await killAtRandom({
    seed,
    until,
    pauseMs: { from, to },
    hasUsualSettings: values.usual,
    log,
  });
  process.stdout.write(`${JSON.stringify({ seed, ...report }, null, 2)}\n`);
  const { lost, doubled, failed, leftOver, different } = report;
  process.exitCode = [lost, doubled, failed, leftOver, different].flat().length === 0 ? 0 : 1;
}
