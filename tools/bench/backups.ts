// Backs up a server during writes and training, restores each backup and checks that it is a consistent snapshot:
// `node dist/tools/bench/backups.js --rounds 50`. Exits with status 1 if a backup is not consistent.
import { parseArgs } from "node:util";
import { backUpUnderLoad } from "../../test/backups/back-up-under-load.ts";

const help = `Usage: node dist/tools/bench/backups.js [flags]
Starts a server. Its clients concurrently chat with a model and give feedback on each answer, send feedback in batches, log
trajectories and submit training jobs. Meanwhile the server is backed up repeatedly, and each backup is restored into another
data folder and verified there. A backup must contain everything acknowledged before it, feedback only on answers that it
contains, batches in full, each version with its adapter, one final state per job, and counters that equal the number of rows.

  --rounds <count>      number of backups (default 50)
  --database-url <url>  empty PostgreSQL database to use (default: SQLite in the data folder)
  --json                print JSON
  --help                print this help
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
          `${rounds} backups during writes, with up to ${rows} rows and ${versions} versions; duration: median ${median.toFixed(2)} s, at most ${(sorted.at(-1) ?? 0).toFixed(2)} s`,
          faults.length === 0
            ? "each is a consistent snapshot, and nothing acknowledged is missing"
            : faults.join("\n"),
          "",
        ].join("\n"),
  );
  process.exitCode = faults.length === 0 ? 0 : 1;
}
