// `npm run simulate`: runs the server's durable core (database, jobs, artifacts) in simulated worlds, one per seed, on
// all processors, and reports the seeds that broke a rule, with exit status 1. With `--trace`, it prints the whole
// history of one seed. test/simulation defines the worlds and their rules.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { root, say, setUp } from "./setup.js";

const help = `Usage: npm run simulate -- [options]
Runs simulated worlds of the durable core. The seed of a world determines everything that happens in it.

  --seeds <n>      number of worlds (default: 1000)
  --from <n>       first seed (default: 1)
  --seed <n>       run only the world of this seed
  --trace          with --seed: print each event, request and answer
  --processes <n>  number of processes (default: one per processor)
  --json           print one line of JSON for each world that broke a rule, and one for the totals
  --help           print this text

Exits with status 1 if a world broke a rule or did not finish.
`;

const seedMax = 2_147_483_647;
/** Number of seeds that each process runs; progress is reported after each process. */
const seedsAtOnce = 50;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
    processes: { type: "string", default: String(availableParallelism()) },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit();
}
const from = values.seed === undefined ? numberOf("from", seedMax) : numberOf("seed", seedMax);
const seedCount = values.seed === undefined ? numberOf("seeds", 10_000_000) : 1;
const processCount = numberOf("processes", 1024);
if (values.trace && seedCount > 1)
  refuse("--trace needs --seed, because it prints the history of one world.");
setUp();

const startMs = performance.now();
/** Totals of the finished processes. */
const total = { seeds: 0, failed: [], operations: 0, events: 0, faults: {} };
let next = from;
await Promise.all(Array.from({ length: Math.min(processCount, Math.ceil(seedCount / seedsAtOnce)) }, work));
const seconds = Math.round((performance.now() - startMs) / 1000);
if (values.json) print(JSON.stringify({ ...total, seconds }));
else {
  const faults = Object.entries(total.faults).map(([kind, count]) => `${kind} ${count}`);
  print(`${total.seeds} worlds in ${seconds} s: ${total.operations} operations, ${total.events} events`);
  print(`faults: ${faults.join(", ")}`);
  print(
    total.failed.length === 0
      ? "no world broke a rule"
      : `${total.failed.length} broke a rule: seeds ${total.failed.join(", ")}`,
  );
}
process.exit(total.failed.length === 0 && total.seeds === seedCount ? 0 : 1);

/** Runs one batch of seeds after another in child processes. */
async function work() {
  while (next < from + seedCount) {
    const first = next;
    const count = Math.min(seedsAtOnce, from + seedCount - first);
    next += count;
    await run(first, count);
    if (!values.json && total.seeds % 500 < seedsAtOnce) say(`${total.seeds} of ${String(seedCount)} worlds`);
  }
}

async function run(first, count) {
  const main = join(root, "dist", "test", "simulation", "run.js");
  const flags = ["--from", String(first), "--count", String(count), ...(values.trace ? ["--trace"] : [])];
  const child = spawn(process.execPath, [main, ...flags], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith("{")) print(line);
    else take(JSON.parse(line));
  }
  const status = await ended;
  if (status !== 0)
    say(`the process for seeds ${first} to ${first + count - 1} exited with status ${status}`);
}

/** Updates the totals from a line that a child process printed: a seed that broke a rule, or the sums of a batch. */
function take(result) {
  if (result.violations !== undefined) {
    total.failed.push(result.seed);
    if (values.json) print(JSON.stringify(result));
    else {
      print(`seed ${result.seed}:\n${result.violations.map((line) => `  ${line}\n`).join("")}`);
      print(`to repeat it: npm run simulate -- --seed ${result.seed} --trace`);
    }
    return;
  }
  total.seeds += result.count;
  total.operations += result.operations;
  total.events += result.events;
  for (const [kind, count] of Object.entries(result.faults))
    total.faults[kind] = (total.faults[kind] ?? 0) + count;
}

function numberOf(name, max) {
  const text = values[name];
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1 && number <= max) return number;
  return refuse(`--${name} is ${JSON.stringify(text)}; it must be a whole number from 1 to ${max}.`);
}

function refuse(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function print(line) {
  process.stdout.write(`${line}\n`);
}
