// Starts a server, sends it mutated requests and reports the responses: `node dist/tools/bench/fuzz.js --count 50000
// --seed 1`. Exits with status 1 if a response breaks a rule.
import { parseArgs } from "node:util";
import { freshSeed } from "../../src/base/domain/random.ts";
import { fuzz } from "../../test/fuzz/run-fuzz.ts";

const help = `Sends mutated requests to a server of its own and reports what it answered.

  --count <count>  how many (default 50000)
  --seed <seed>    which ones (default: a new one)
  --only <index>   sends this one of the seed alone
  --json           print JSON
  --help           print this
`;

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "50000" },
    seed: { type: "string" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(help);
else await run();

async function run(): Promise<void> {
  const seed = Number(values.seed ?? freshSeed());
  const report = await fuzz({
    seed,
    count: Number(values.count),
    ...(values.only === undefined ? {} : { only: Number(values.only) }),
    log: (line) => process.stderr.write(`${line}\n`),
  });
  process.stdout.write(
    values.json ? `${JSON.stringify({ seed, ...report }, null, 2)}\n` : textOf(seed, report),
  );
  process.exitCode = report.failures.length + report.logged.length === 0 ? 0 : 1;
}

function textOf(seed: number, report: Awaited<ReturnType<typeof fuzz>>): string {
  const { statuses, failures, logged, idleGauges, seconds, residentMebibytes } = report;
  return [
    `seed ${seed}: ${seconds} s`,
    `statuses: ${Object.entries(statuses)
      .map(([status, count]) => `${status} × ${count}`)
      .join(", ")}`,
    `resident memory at a tenth, half and the end: ${residentMebibytes.join(", ")} MiB`,
    idleGauges.length === 0 ? "not idle at the end" : `0 at the end: ${idleGauges.join(", ")}`,
    `failures: ${failures.length}`,
    ...failures,
    `unexpected log lines: ${logged.length}`,
    ...logged,
    "",
  ].join("\n");
}
