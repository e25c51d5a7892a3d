// Kills servers that share one PostgreSQL database and one folder, and the database itself, at random times. Meanwhile,
// clients send jobs, logs, feedback and chats to any of the servers. Then checks on each server that no acknowledged
// data is lost or duplicated, no job failed, and every version equals that of an undisturbed run.
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom, type Random } from "../../src/base/domain/random.ts";
import {
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
  type ServerOptions,
} from "../running-server.ts";
import { model, registerModel } from "../served-jobs.ts";
import { checkStored } from "./check-stored.ts";
import { Clients } from "./clients.ts";
import { leftOver } from "./left-over.ts";
import { differentVersions } from "./undisturbed.ts";

/** A PostgreSQL server that can be killed; see scripts/postgres.js. */
export interface MortalDatabase {
  readonly url: string;
  kill(): void;
  start(): void;
}

export interface ManyKillOptions {
  readonly database: MortalDatabase;
  readonly seed: number;
  readonly serverCount: number;
  readonly kills: number;
  /** Number of kills of the database. */
  readonly databaseKills: number;
  /** Entry script of another build with the same database version; if given, every other start runs it. */
  readonly otherEntry?: string;
  readonly log?: (line: string) => void;
}

export interface ManyKillReport {
  readonly serverKills: number;
  readonly databaseKills: number;
  /** Number of acknowledged requests by kind. */
  readonly acknowledged: {
    readonly jobs: number;
    readonly cancelled: number;
    readonly deleted: number;
    readonly logs: number;
    readonly feedback: number;
    readonly chats: number;
  };
  /** Descriptions of errors, one each; empty if there are none. */
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly failed: readonly string[];
  readonly leftOver: readonly string[];
  readonly different: readonly string[];
  /** Number of versions that were compared with versions of an undisturbed server. */
  readonly comparedCount: number;
}

const flags = [...model, "--training-batch-tokens=32"];
/** Settings for frequent deaths: many restarts are allowed, and a dead server is detected soon. */
const limits = {
  engine: { restartCountMax: 1000 },
  training: { snapshotShare: 1 },
  jobs: { backoffMs: 50, backoffMsMax: 200, attemptsMax: 1000, startsMax: 10_000, leaseMs: 4000 },
};
const usual: ServerOptions = { flags, limits };
const adminKey = "hone_of_servers_that_die_0123456789";
/** Pause between two kills in milliseconds. */
const [pauseMsMin, pauseMsMax] = [100, 2000];
/** Maximum time that the database is down, in milliseconds. */
const awayMsMax = 3000;

/** Kills servers and the database. The same seed gives the same victims and pauses. */
export async function killMany({
  database,
  seed,
  serverCount,
  kills,
  databaseKills,
  otherEntry,
  log = () => undefined,
}: ManyKillOptions): Promise<ManyKillReport> {
  const random = seededRandom("many kills", seed);
  const servers = await Servers.start({ database, otherEntry }, serverCount);
  const abandoned = new AbortController();
  try {
    const [first] = servers.all;
    const modelIds = [await registerModel(first, "a"), await registerModel(first, "b")];
    const choice = seededRandom("many clients", seed);
    const clients = new Clients(() => servers.any(choice), { modelIds, seed, signal: abandoned.signal });
    const sending = clients.run();
    // Ignored here: the await below reports errors.
    sending.catch(() => abandoned.abort());
    for (let index = 0; index < kills; index++) {
      await sleep(pauseMsMin + random.index(pauseMsMax - pauseMsMin));
      const isDatabase =
        Math.floor(((index + 1) * databaseKills) / kills) > Math.floor((index * databaseKills) / kills);
      if (isDatabase) {
        log(`${index + 1}: the database`);
        database.kill();
        await sleep(random.index(awayMsMax));
        database.start();
      } else {
        const victim = random.index(serverCount);
        log(`${index + 1}: server ${victim}`);
        await servers.kill(victim);
      }
    }
    await servers.allStarted();
    clients.isOver = true;
    await sending;
    const changed = await clients.resendJobs();
    await eventually("all jobs end", async () => (await clients.haveAllEnded()) || null, 1_800_000);
    const [stored, ...others] = await Promise.all(servers.all.map((server) => checkStored(server, clients)));
    const all = [stored, ...others];
    await servers.sweep();
    // Ignores adapters that were moved into place just before their server died. Servers keep them for an hour, since
    // another server may be about to publish them.
    const left = leftOver(servers.blobs, stored.steps).filter((name) => !/^adapters\/[^/]+\/\d+$/.test(name));
    return {
      serverKills: kills - databaseKills,
      databaseKills,
      acknowledged: {
        jobs: clients.jobs.size,
        cancelled: clients.cancelled.size,
        deleted: clients.deleted.size,
        logs: clients.logs.size,
        feedback: clients.feedback.size,
        chats: clients.chats.size,
      },
      lost: distinct(all.flatMap(({ lost }) => lost)),
      doubled: distinct([...all.flatMap(({ doubled }) => doubled), ...changed]),
      failed: distinct(all.flatMap(({ failed }) => failed)),
      leftOver: left,
      different: await differentVersions(servers.blobs, stored.made, usual),
      comparedCount: [...stored.made.values()].flat().length,
    };
  } finally {
    abandoned.abort();
    await servers.remove();
  }
}

function distinct(words: readonly string[]): readonly string[] {
  return [...new Set(words)];
}

/** Servers with separate data folders; at any time some may be dead or starting. */
class Servers {
  readonly blobs: string;
  readonly #options: Pick<ManyKillOptions, "database" | "otherEntry">;
  readonly #folders: readonly string[];
  /** A dead server stays in the list until its successor listens; meanwhile, requests to it fail. */
  readonly #servers: RunningServer[] = [];
  #startCount = 0;
  readonly #starting: Promise<void>[];

  private constructor(options: Pick<ManyKillOptions, "database" | "otherEntry">, count: number) {
    this.#options = options;
    this.blobs = newDataFolder();
    this.#folders = Array.from({ length: count }, () => newDataFolder());
    this.#starting = this.#folders.map(() => Promise.resolve());
  }

  static async start(
    options: Pick<ManyKillOptions, "database" | "otherEntry">,
    count: number,
  ): Promise<Servers> {
    const servers = new Servers(options, count);
    await Promise.all(servers.#folders.map((_, index) => servers.#start(index)));
    return servers;
  }

  get all(): readonly RunningServer[] {
    return this.#servers;
  }

  any(random: Random): RunningServer {
    return this.#servers[random.index(this.#servers.length)];
  }

  /** Kills the server, and begins to start it again. If it is still starting, waits and then kills it. */
  async kill(index: number): Promise<void> {
    await this.#starting[index];
    await this.#servers[index].kill();
    this.#starting[index] = this.#start(index);
    // Prevents an unhandled rejection; the code that awaits the start reports its errors.
    this.#starting[index].catch(() => undefined);
  }

  async allStarted(): Promise<void> {
    await Promise.all(this.#starting);
  }

  /** Stops all servers. Then starts and stops one more, which removes what dead servers left. */
  async sweep(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.terminate()));
    await this.#start(0);
    await this.#servers[0].terminate();
  }

  async remove(): Promise<void> {
    await Promise.allSettled(this.#starting);
    await Promise.all(this.#servers.map((server) => server.kill()));
    for (const folder of [this.blobs, ...this.#folders]) removeDataFolder(folder);
  }

  /** Starts a server. Retries until it succeeds, since a server cannot start while its database is down. */
  async #start(index: number): Promise<void> {
    const { database, otherEntry } = this.#options;
    const isOther = this.#startCount++ % 2 === 1;
    const shares = ["--database-url", database.url, "--blobs", this.blobs, "--api-key", adminKey];
    const options = {
      dataFolder: this.#folders[index],
      limits,
      flags: [...flags, ...shares],
      ...(isOther && otherEntry !== undefined ? { entry: otherEntry } : {}),
    };
    for (let tried = 1; ; tried++) {
      try {
        this.#servers[index] = { ...(await startServer(options)), apiKey: adminKey };
        return;
      } catch (error) {
        if (tried === startsMax || !/database|connect/i.test(String(error))) throw error;
      }
    }
  }
}

const startsMax = 20;
