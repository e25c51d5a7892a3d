// Backs up a server during writes and training, restores each backup and checks that it is a consistent snapshot:
// `node dist/tools/bench/backups.js --rounds 50`. Exits with status 1 if a backup is not consistent.
import { parseArgs } from "node:util";
import { backUpUnderLoad } from "../../test/backups/back-up-under-load.ts";

const help = `Usage: node dist/tools/bench/backups.js [flags]
Starts a server, whose clients chat with a model and say something of each answer, send feedback in batches, log trajectories
and submit training jobs, all at once. Meanwhile it is backed up again and again; each backup is restored into another data
folder and verified there. What was acknowledged before a backup has to be in it, feedback on answers that are there, batches
whole, every version with its adapter, each job with one end, and everything that is counted as the rows come to.

  --rounds <count>      how many backups (default 50)
  --database-url <url>  an empty PostgreSQL (default: SQLite in the data folder)
  --json                print JSON
  --help                print this
`;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "50" },
    "database-url": { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(help);
else await run();

async function run(): Promise<void> {
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const databaseUrl = values["database-url"];
  const report = await backUpUnderLoad({ rounds: Number(values.rounds), databaseUrl, log });
  const { rounds, rows, versions, seconds, faults } = report;
  const sorted = seconds.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  process.stdout.write(
    values.json
      ? `${JSON.stringify(report, null, 2)}\n`
      : [
          `${rounds} backups beside writers, of up to ${rows} rows and ${versions} versions; each took ${median.toFixed(2)} s at the median, ${(sorted.at(-1) ?? 0).toFixed(2)} s at most`,
          faults.length === 0 ? "each of one moment, and nothing acknowledged is missing" : faults.join("\n"),
          "",
        ].join("\n"),
  );
  process.exitCode = faults.length === 0 ? 0 : 1;
}
