// Runs many seeds in this process. Prints a line of JSON for each seed with a broken promise, and one line at the end.
// With a single seed, prints all its events. `npm run simulate` (scripts/simulate.js) starts one such process per
// processor.
import { parseArgs } from "node:util";
import type { FaultKind } from "./faults.ts";
import { simulate } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    from: { type: "string", default: "1" },
    count: { type: "string", default: "1" },
    trace: { type: "boolean", default: false },
  },
});
const from = Number(values.from);
const faults: Partial<Record<FaultKind, number>> = {};
let [operations, events] = [0, 0];
for (let seed = from; seed < from + Number(values.count); seed++) {
  const watch = values.trace
    ? (atMs: number, what: string): void => print(`${atMs.toFixed(1).padStart(10)} ${what}`)
    : undefined;
  try {
    const result = await simulate(seed, watch === undefined ? {} : { watch });
    operations += result.operations.length;
    events += result.eventCount;
    for (const [kind, count] of result.faults) faults[kind] = (faults[kind] ?? 0) + count;
    if (values.trace) for (const operation of result.operations) print(`  ${JSON.stringify(operation)}`);
    if (result.violations.length > 0) print(JSON.stringify({ seed, violations: result.violations }));
  } catch (error) {
    print(JSON.stringify({ seed, violations: [String(error instanceof Error ? error.stack : error)] }));
  }
}
print(JSON.stringify({ from, count: Number(values.count), operations, events, faults }));

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
