// Kills servers that share one PostgreSQL and one folder, and the database itself, at random, while clients send jobs,
// logs, feedback and chats to any of them. Then checks on each server that no acknowledged data is lost or doubled, no
// job failed, and every version is as in an undisturbed run.
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

/** A PostgreSQL that can be killed; see scripts/postgres.js. */
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
  /** The program of another build on the same version of the database: every other start is of that. */
  readonly otherEntry?: string;
  readonly log?: (line: string) => void;
}

export interface ManyKillReport {
  readonly serverKills: number;
  readonly databaseKills: number;
  /** Numbers of acknowledged requests. */
  readonly acknowledged: {
    readonly jobs: number;
    readonly cancelled: number;
    readonly deleted: number;
    readonly logs: number;
    readonly feedback: number;
    readonly chats: number;
  };
  /** In words, one for each thing; all empty when all is well. */
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly failed: readonly string[];
  readonly leftOver: readonly string[];
  readonly different: readonly string[];
  /** Versions that were compared with those of a server on which nothing dies. */
  readonly comparedCount: number;
}

const flags = [...model, "--training-batch-tokens=32"];
/** Servers die more often than those that are well, and that is noticed soon. */
const limits = {
  engine: { restartCountMax: 1000 },
  training: { snapshotShare: 1 },
  jobs: { backoffMs: 50, backoffMsMax: 200, attemptsMax: 1000, startsMax: 10_000, leaseMs: 4000 },
};
const usual: ServerOptions = { flags, limits };
const adminKey = "hone_of_servers_that_die_0123456789";
/** Between two kills. */
const [pauseMsMin, pauseMsMax] = [100, 2000];
/** How long a database is away. */
const awayMsMax = 3000;

/** The same seed chooses the same victims and pauses. */
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
    // Errors are reported at the await below.
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
    // Files that were moved into place just before their server died stay for an hour, since another server may be
    // about to publish them.
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

/** Servers with a data folder each, of which any may be dead or about to start. */
class Servers {
  readonly blobs: string;
  readonly #options: Pick<ManyKillOptions, "database" | "otherEntry">;
  readonly #folders: readonly string[];
  /** A dead one stays until its successor listens: who asks it hears nothing. */
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

  /** Kills it and starts it again, which is not waited for; one that starts is killed once it has. */
  async kill(index: number): Promise<void> {
    await this.#starting[index];
    await this.#servers[index].kill();
    this.#starting[index] = this.#start(index);
    // Errors are reported where the start is awaited.
    this.#starting[index].catch(() => undefined);
  }

  async allStarted(): Promise<void> {
    await Promise.all(this.#starting);
  }

  /** Ends all, and has what died last be swept by one that starts and ends. */
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

  /** A server need not start while its database is away: it is started until it does. */
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
