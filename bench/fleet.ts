// What a fleet of eight servers behind one model does with 10,000 requests: how even it is under a high load, how many
// requests stay with what was computed before at a moderate one, and what becomes of them while servers die, hang, fail and
// drain. The servers are stubs over HTTP in this process: what is measured is who answers, not how fast.
import { parseArgs } from "node:util";
import { simulateFleet, type FleetLoad, type FleetReport } from "../src/remote/testing/simulated-fleet.ts";

const help = `node dist/bench/fleet.js: 10,000 requests to eight stub servers that fall ill and get well

  --requests <count>  of each case, 1000 to 1000000 (default 10000)
  --seed <number>     of prompts and illnesses (default 1)
  --json              print JSON
  --help              print this`;

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(`${help}\n`);
else {
  const requestCount = countOf("requests", 1000, 1_000_000);
  const seed = countOf("seed", 0, 2 ** 31);
  const cases: readonly (FleetLoad & { readonly name: string })[] = [
    { name: "high load", requestCount, concurrency: 256, promptCount: 2500, faultCount: 0, seed },
    { name: "moderate load", requestCount, concurrency: 16, promptCount: 500, faultCount: 0, seed },
    { name: "servers fall ill", requestCount, concurrency: 16, promptCount: 500, faultCount: 16, seed },
  ];
  for (const load of cases) print({ ...load, ...(await simulateFleet(load)) });
}

function countOf(flag: "requests" | "seed", least: number, most: number): number {
  const count = Number(values[flag]);
  if (Number.isInteger(count) && count >= least && count <= most) return count;
  throw new Error(
    `--${flag} is ${JSON.stringify(values[flag])}; it takes a whole number from ${least} to ${most}`,
  );
}

function print(report: FleetLoad & FleetReport & { readonly name: string }): void {
  if (values.json) {
    process.stdout.write(`${JSON.stringify(report)}\n`);
    return;
  }
  const { name, requestCount, answeredCount, refusedCounts, wrongCount, unevenness, affinity } = report;
  const refused = Object.entries(refusedCounts).map(([code, count]) => `${count} ${code}`);
  const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;
  process.stdout.write(
    `${name}: ${answeredCount} of ${requestCount} answered, ${wrongCount} of them wrong, refused: ${refused.join(", ") || "none"}; ` +
      `off an even share by ${percent(unevenness)} at most, ${percent(affinity)} at their prompt's server\n`,
  );
}
