// Starts a server, sends it mutated requests and reports the responses: `node dist/tools/bench/fuzz.js --count 50000
// --seed 1`. Exits with status 1 if a response breaks a rule.
import { parseArgs } from "node:util";
import { freshSeed } from "../../src/base/domain/random.ts";
import { fuzz } from "../../test/fuzz/run-fuzz.ts";

const help = `Starts a server, sends it mutated requests and reports its responses.

  --count <count>  number of requests (default 50000)
  --seed <seed>    seed that selects the requests (default: random)
  --only <index>   send only the request with this index
  --json           print JSON
  --help           print this help
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
    `resident memory after a tenth, half and all of the requests: ${residentMebibytes.join(", ")} MiB`,
    idleGauges.length === 0 ? "not idle at the end" : `0 at the end: ${idleGauges.join(", ")}`,
    `failures: ${failures.length}`,
    ...failures,
    `unexpected log lines: ${logged.length}`,
    ...logged,
    "",
  ].join("\n");
}
