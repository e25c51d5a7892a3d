// What a fleet of eight servers behind one model does with 10,000 requests: how even their shares are, how many requests go to
// what was computed before, and what becomes of them while servers die, hang, fail and drain. The servers are stubs over HTTP
// in this process, as slow as vLLM is: what is measured is who answers, not how fast.
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
  const load = { requestCount, promptCount: 2000, firstTokenSeconds: 3, seed };
  const cases: readonly (FleetLoad & { readonly name: string })[] = [
    { ...load, name: "all are well", concurrency: 64, illnessCount: 0 },
    { ...load, name: "much to do", concurrency: 256, illnessCount: 0 },
    { ...load, name: "few prompts", concurrency: 64, promptCount: 500, illnessCount: 0 },
    { ...load, name: "servers fall ill", concurrency: 64, illnessCount: 12 },
  ];
  for (const each of cases) print({ ...each, ...(await simulateFleet(each)) });
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
  const { name, requestCount, answeredCount, refusedCounts, wrongCount } = report;
  const refused = Object.entries(refusedCounts).map(([code, count]) => `${count} ${code}`);
  const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;
  const { unevenness, plainUnevenness, affinity, plainAffinity, reuse } = report;
  process.stdout.write(
    `${name}: ${answeredCount} of ${requestCount} answered, ${wrongCount} of them wrong, refused: ${refused.join(", ") || "none"}\n` +
      `  off a fair share by ${percent(unevenness)} at most (of all servers alike: ${percent(plainUnevenness)})\n` +
      `  at the first server of their prompt's order ${percent(affinity)} (at one server: ${percent(plainAffinity)}), ` +
      `where it was computed already ${percent(reuse)}\n`,
  );
}
