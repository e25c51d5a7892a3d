// Kills several servers that share a PostgreSQL database, and PostgreSQL itself, at random times while clients use the
// servers: `node dist/tools/bench/kill-many.js --kills 200 --database-kills 20`. Then runs the same jobs on an
// undisturbed server and compares the results.
// Exits with status 1 if anything was lost, duplicated, failed, left over or different.
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import { freshSeed } from "../../src/base/domain/random.ts";
import { killMany, type MortalDatabase } from "../../test/kills/kill-many.ts";

const help = `Kills servers that share one PostgreSQL database, and PostgreSQL itself, at random times. Prints the fate of all work as JSON.

  --servers <count>         number of servers (default 4)
  --kills <count>           number of kills (default 200)
  --database-kills <count>  how many of the kills hit PostgreSQL (default 20)
  --older <folder>          folder of another build with the same database version; every other start runs that build
  --seed <seed>             seed of the kills (default: random)
  --help                    print this help
`;

const { values } = parseArgs({
  options: {
    servers: { type: "string", default: "4" },
    kills: { type: "string", default: "200" },
    "database-kills": { type: "string", default: "20" },
    older: { type: "string" },
    seed: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(help);
else await run(Number(values.seed ?? freshSeed()));

async function run(seed: number): Promise<void> {
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const started = await startDatabase(log);
  if (started === null) throw new Error("PostgreSQL is not installed.");
  const report = await killMany({
    database: started,
    seed,
    serverCount: Number(values.servers),
    kills: Number(values.kills),
    databaseKills: Number(values["database-kills"]),
    ...(values.older === undefined
      ? {}
      : { otherEntry: relative(".", join(values.older, "dist/src/apps/cli/main.js")) }),
    log,
  });
  process.stdout.write(`${JSON.stringify({ seed, ...report }, null, 2)}\n`);
  const { lost, doubled, failed, leftOver, different } = report;
  process.exitCode = [lost, doubled, failed, leftOver, different].flat().length === 0 ? 0 : 1;
}

/** Starts PostgreSQL through a script that is not part of the build. */
async function startDatabase(say: (text: string) => void): Promise<MortalDatabase | null> {
  const script = pathToFileURL(resolve("scripts/postgres.js")).href;
  const { startMortalPostgres } = (await import(script)) as {
    readonly startMortalPostgres: (say: (text: string) => void) => MortalDatabase | null;
  };
  return startMortalPostgres(say);
}
