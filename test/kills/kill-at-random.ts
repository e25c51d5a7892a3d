// Kills the server, its training processes and its engine at random times, also during writes. Meanwhile, clients send
// jobs, logs and feedback, the disk fills, the clock steps, and other processes lock the database.
// Then checks that no acknowledged data is lost or duplicated, no job failed, no file is left over, and every version
// equals that of an undisturbed run.
import { seededRandom } from "../../src/base/domain/random.ts";
import { busyGauges } from "../idle-gauges.ts";
import {
  childrenOf,
  eventually,
  startServer,
  type RunningServer,
  type ServerOptions,
} from "../running-server.ts";
import { model, registerModel } from "../served-jobs.ts";
import { checkStored, type Stored } from "./check-stored.ts";
import { Clients } from "./clients.ts";
import { leftOver } from "./left-over.ts";
import { Machine, type Obstacle, type Writing } from "./obstacles.ts";
import { differentVersions } from "./undisturbed.ts";

export interface KillReport extends Omit<Stored, "steps" | "made"> {
  readonly kills: Readonly<Record<Victim, number>>;
  readonly obstacles: Readonly<Record<Obstacle, number>>;
  /** Number of acknowledged requests by kind. */
  readonly acknowledged: {
    readonly jobs: number;
    readonly cancelled: number;
    readonly deleted: number;
    readonly logs: number;
    readonly feedback: number;
    readonly chats: number;
  };
  readonly leftOver: readonly string[];
  /** Number of kills during a write, by the kind of data that was being written: a snapshot or a version. */
  readonly whileWriting: Readonly<Record<Writing, number>>;
  /** Descriptions of versions that differ from the versions of an undisturbed server. */
  readonly different: readonly string[];
  /** Number of versions that were compared with versions of an undisturbed server. */
  readonly comparedCount: number;
}

/** The process to kill. For `stopped`, the server is asked to stop instead, and returns its jobs to the queue. */
type Victim = "server" | "stopped" | "trainer" | "engine" | "all";

const victims: readonly Victim[] = ["server", "stopped", "trainer", "trainer", "engine", "all"];
/** For each victim, words in the command lines of the child processes that are killed with it. */
const childrenKilled: Readonly<Record<Victim, readonly string[]>> = {
  server: [],
  stopped: [],
  trainer: ["child-main"],
  engine: ["embedded-main"],
  all: ["child-main", "embedded-main"],
};

/**
 * Small training steps with a snapshot after each. Many attempts are allowed, because a training process makes no
 * progress if it is killed within its first seconds. The engine may restart far more often than by default.
 */
const flags = [...model, "--training-batch-tokens=32"];
const usualLimits = { engine: { restartCountMax: 1000 }, training: { snapshotShare: 1 } };
const patientLimits = {
  ...usualLimits,
  jobs: { backoffMs: 50, backoffMsMax: 200, attemptsMax: 100, startsMax: 1000 },
};

export interface KillOptions {
  readonly seed: number;
  readonly until: { readonly count: number } | { readonly seconds: number };
  /** Range of the pause between two kills. */
  readonly pauseMs?: { readonly from: number; readonly to: number };
  /** True to use the default number of attempts per job and the default back-off. */
  readonly hasUsualSettings?: boolean;
  readonly log?: (line: string) => void;
}

/** Kills until the count or the time is reached. The same seed gives the same victims, obstacles and pauses. */
export async function killAtRandom({
  seed,
  until,
  pauseMs: { from, to } = { from: 100, to: 1600 },
  hasUsualSettings = false,
  log = () => undefined,
}: KillOptions): Promise<KillReport> {
  const usual = { flags, limits: hasUsualSettings ? usualLimits : patientLimits };
  const machine = new Machine();
  const world = new World(machine, usual, await startOn(machine, usual));
  const startMs = performance.now();
  const isOver = (index: number): boolean =>
    "count" in until ? index >= until.count : performance.now() - startMs >= 1000 * until.seconds;
  const abandoned = new AbortController();
  try {
    const random = seededRandom("kills", seed);
    const whileWriting: Record<Writing, number> = { snapshot: 0, version: 0 };
    const modelIds = [await registerModel(world.server, "a"), await registerModel(world.server, "b")];
    const clients = new Clients(() => world.server, { modelIds, seed, signal: abandoned.signal });
    const sending = clients.run();
    // Ignored here: the await below reports errors.
    sending.catch(() => abandoned.abort());
    for (let index = 0; !isOver(index); index++) {
      await new Promise((resolve) => setTimeout(resolve, from + random.index(to - from)));
      const obstacle = random.uniform() < 0.5 ? machine.begin(random) : null;
      const victim = victims[random.index(victims.length)] ?? "server";
      const wanted = random.uniform() < 0.5 ? random.index(2) : null;
      const writing = wanted === null ? null : await machine.isWriting(wanted === 0 ? "snapshot" : "version");
      if (writing !== null) whileWriting[writing] += 1;
      log(
        [`${index + 1}: ${victim}`, obstacle, writing && `while a ${writing} is written`]
          .filter(Boolean)
          .join(", "),
      );
      await world.kill(victim);
    }
    clients.isOver = true;
    machine.endAll();
    await sending;
    const changed = await clients.resendJobs();
    await eventually("all jobs end", async () => (await clients.haveAllEnded()) || null, 1_800_000);
    const { steps, made, doubled, lost, failed } = await checkStored(world.server, clients);
    const busy = await busyGauges(world.server);
    await world.server.terminate();
    // Starts the server once more, because it removes the files that its last death left behind when it starts.
    await world.startAgain();
    await world.server.terminate();
    const acknowledged = {
      jobs: clients.jobs.size,
      cancelled: clients.cancelled.size,
      deleted: clients.deleted.size,
      logs: clients.logs.size,
      feedback: clients.feedback.size,
      chats: clients.chats.size,
    };
    const { kills } = world;
    return {
      kills,
      whileWriting,
      obstacles: machine.counts,
      acknowledged,
      lost,
      failed,
      doubled: [...doubled, ...changed],
      leftOver: [...leftOver(machine.dataFolder, steps), ...busy],
      different: await differentVersions(machine.dataFolder, made, usual),
      comparedCount: [...made.values()].flat().length,
    };
  } finally {
    abandoned.abort();
    await world.server.kill();
    machine.remove();
  }
}

/** A server on a machine; it is started and killed repeatedly. */
class World {
  server: RunningServer;
  readonly kills: Record<Victim, number> = { server: 0, stopped: 0, trainer: 0, engine: 0, all: 0 };
  readonly #machine: Machine;
  readonly #usual: ServerOptions;

  constructor(machine: Machine, usual: ServerOptions, server: RunningServer) {
    this.#machine = machine;
    this.#usual = usual;
    this.server = server;
  }

  async kill(victim: Victim): Promise<void> {
    this.kills[victim] += 1;
    const children = childrenOf(this.server.process.pid ?? -1);
    for (const { id, command } of children)
      if (childrenKilled[victim].some((part) => command.includes(part))) killProcess(id);
    if (victim === "trainer" || victim === "engine") return;
    if (victim === "stopped") await this.server.terminate();
    else await this.server.kill();
    await this.startAgain();
  }

  /**
   * Starts the server again. A start may fail on a full disk or with a locked database, even if the obstacle has ended
   * by the time the failure is noticed.
   */
  async startAgain(): Promise<void> {
    const { isObstructed } = this.#machine;
    this.server = await startOn(this.#machine, this.#usual).catch((error: unknown) => {
      if (!isObstructed) throw error;
      this.#machine.endAll();
      return startOn(this.#machine, this.#usual);
    });
  }
}

function startOn({ dataFolder, clockFile }: Machine, usual: ServerOptions): Promise<RunningServer> {
  return startServer({ dataFolder, clockFile, ...usual });
}

function killProcess(id: number): void {
  try {
    process.kill(id, "SIGKILL");
  } catch {
    // Ignored: the process had already ended.
  }
}
