// Backs up a server repeatedly while clients write to it and its model trains. Restores each backup to another folder
// and checks it. It must contain every file, every referenced row, and everything that was acknowledged before the
// backup began.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { backup, restore, verify, type PlaceFlags } from "../../src/apps/server/backup/archive-commands.ts";
import { readConfig } from "../../src/apps/server/config.ts";
import { databasePlace } from "../../src/apps/server/database-place.ts";
import { newDataFolder, removeDataFolder, startServer } from "../running-server.ts";
import { model, registerModel } from "../served-jobs.ts";
import { momentFaults } from "./check-moment.ts";
import { type Acknowledged, WritingClients } from "./writing-clients.ts";

export interface BackupLoadReport {
  readonly rounds: number;
  /** Number of rows and versions in the last backup. */
  readonly rows: number;
  readonly versions: number;
  /** Duration of each backup in seconds. */
  readonly seconds: readonly number[];
  /** Descriptions of inconsistencies; empty if every backup is a consistent snapshot. */
  readonly faults: readonly string[];
}

export interface BackupLoadOptions {
  readonly rounds: number;
  /** URL of an empty PostgreSQL database; SQLite by default. */
  readonly databaseUrl?: string | undefined;
  readonly log?: (line: string) => void;
}

const watching = { report: () => undefined, signal: new AbortController().signal };

/** Pause between two backups in milliseconds. */
const pauseMs = 300;

export async function backUpUnderLoad({
  rounds,
  databaseUrl,
  log = () => undefined,
}: BackupLoadOptions): Promise<BackupLoadReport> {
  const [dataFolder, folder] = [newDataFolder(), newDataFolder()];
  const database = databaseUrl === undefined ? {} : { "database-url": databaseUrl };
  const databaseFlags = databaseUrl === undefined ? [] : ["--database-url", databaseUrl];
  const server = await startServer({ dataFolder, flags: [...model, ...databaseFlags] });
  const from: PlaceFlags = { data: dataFolder, ...database };
  const seconds: number[] = [];
  const faults: string[] = [];
  let [rows, versions] = [0, 0];
  try {
    const clients = new WritingClients(server, await registerModel(server, "a"));
    try {
      for (let round = 1; round <= rounds; round++) {
        await sleep(pauseMs);
        const acknowledged = clients.acknowledged();
        const [archive, restored] = [join(folder, `archive-${round}`), join(folder, `restored-${round}`)];
        const start = performance.now();
        const manifest = await backup(archive, from, watching);
        seconds.push((performance.now() - start) / 1000);
        // In the last round, stops the clients before the restore. In other rounds they continue: the restore writes to
        // another folder, so it does not disturb the running server.
        if (round === rounds) await clients.stop();
        await restore(archive, { data: restored }, watching);
        const found = [
          ...manifest.faults.map(({ message }) => message),
          ...(await verified(archive, {})),
          ...(await verified(null, { data: restored })),
          ...(await restoredFaults(restored, acknowledged)),
        ];
        faults.push(...found.map((fault) => `backup ${round}: ${fault}`));
        const countOf = (name: string): number =>
          manifest.database.tables.find(({ table }) => table === name)?.rows ?? 0;
        rows = manifest.database.tables.reduce((sum, table) => sum + table.rows, 0);
        versions = countOf("model_versions");
        log(
          `${round}: ${seconds.at(-1)?.toFixed(2)} s, ${rows} rows, ${versions} versions, ${found.length} faults`,
        );
        for (const made of [archive, restored]) rmSync(made, { recursive: true });
      }
    } finally {
      await clients.stop();
    }
    return { rounds, rows, versions, seconds, faults };
  } finally {
    await server.kill();
    for (const made of [dataFolder, folder]) removeDataFolder(made);
  }
}

async function restoredFaults(data: string, acknowledged: Acknowledged): Promise<readonly string[]> {
  const tables = await databasePlace(readConfig({ data }, {})).openTables({ isShared: true });
  try {
    return await momentFaults(tables, acknowledged);
  } finally {
    await tables.close();
  }
}

/** Returns the faults that `hone verify` would print. */
async function verified(archive: string | null, flags: PlaceFlags): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { what, message } of verify(archive, flags, watching)) found.push(`${what}: ${message}`);
  return found;
}
