// Kills the server, its training processes and its engine at random while clients send jobs, logs and feedback, the disk
// fills, the clock steps and others lock the database; then looks whether anything that was acknowledged is lost or
// doubled, a job failed, or a file was left over.
import { seededRandom } from "../../src/domain/random.ts";
import { childrenOf, eventually, startServer, type RunningServer } from "../running-server.ts";
import { model, registerModel } from "../served-jobs.ts";
import { checkStored, type Stored } from "./check-stored.ts";
import { Clients } from "./clients.ts";
import { leftOver } from "./left-over.ts";
import { Machine, type Obstacle } from "./obstacles.ts";

export interface KillReport extends Omit<Stored, "steps"> {
  readonly kills: Readonly<Record<Victim, number>>;
  readonly obstacles: Readonly<Record<Obstacle, number>>;
  /** What clients were told is done. */
  readonly acknowledged: {
    readonly jobs: number;
    readonly cancelled: number;
    readonly deleted: number;
    readonly logs: number;
    readonly feedback: number;
  };
  readonly leftOver: readonly string[];
}

type Victim = "server" | "trainer" | "engine" | "all";

const victims: readonly Victim[] = ["server", "trainer", "engine", "all"];
/** Words in the command lines of the processes that die with each. */
const childrenKilled: Readonly<Record<Victim, readonly string[]>> = {
  server: [],
  trainer: ["training"],
  engine: ["engine"],
  all: ["training", "engine"],
};

/** Small steps, and as many lives for a job and an engine as a long run of kills takes. */
const flags = [
  ...model,
  "--training-batch-tokens=32",
  "--jobs-backoff-ms=50",
  "--jobs-backoff-ms-max=200",
  "--jobs-attempts-max=100",
  "--jobs-starts-max=1000",
  "--engine-restart-count-max=1000",
];

/** Runs `count` kills; the same seed chooses the same victims, obstacles and pauses. */
export async function killAtRandom(options: {
  readonly seed: number;
  readonly count: number;
  readonly log?: (line: string) => void;
}): Promise<KillReport> {
  const { seed, count, log = () => undefined } = options;
  const machine = new Machine();
  const world = new World(machine, await startOn(machine));
  try {
    const random = seededRandom("kills", seed);
    const modelIds = [await registerModel(world.server, "a"), await registerModel(world.server, "b")];
    const clients = new Clients(() => world.server, modelIds, seed);
    const sending = clients.run();
    for (let index = 0; index < count; index++) {
      await new Promise((resolve) => setTimeout(resolve, 100 + random.index(1500)));
      const obstacle = random.uniform() < 0.5 ? machine.begin(random) : null;
      const victim = victims[random.index(victims.length)] ?? "server";
      log(`${index + 1}: ${victim}${obstacle === null ? "" : `, ${obstacle}`}`);
      await world.kill(victim);
    }
    clients.isOver = true;
    machine.endAll();
    await sending;
    const changed = await clients.resendJobs();
    const isEnded = async (): Promise<true | null> => ((await clients.unfinishedCount()) === 0 ? true : null);
    await eventually("all jobs end", isEnded, 600_000);
    const { steps, doubled, ...found } = await checkStored(world.server, clients);
    await world.server.terminate();
    // What died last is swept at the next start.
    await world.startAgain();
    await world.server.terminate();
    const acknowledged = {
      jobs: clients.jobs.size,
      cancelled: clients.cancelled.size,
      deleted: clients.deleted.size,
      logs: clients.logs.size,
      feedback: clients.feedback.size,
    };
    const { kills } = world;
    const doubledToo = [...doubled, ...changed];
    const files = leftOver(machine.dataFolder, steps);
    return { kills, obstacles: machine.counts, acknowledged, ...found, doubled: doubledToo, leftOver: files };
  } finally {
    await world.server.kill();
    machine.remove();
  }
}

/** A server that comes and goes on a machine. */
class World {
  server: RunningServer;
  readonly kills: Record<Victim, number> = { server: 0, trainer: 0, engine: 0, all: 0 };
  readonly #machine: Machine;

  constructor(machine: Machine, server: RunningServer) {
    this.#machine = machine;
    this.server = server;
  }

  async kill(victim: Victim): Promise<void> {
    this.kills[victim] += 1;
    const children = childrenOf(this.server.process.pid ?? -1);
    for (const { id, command } of children)
      if (childrenKilled[victim].some((part) => command.includes(part))) killProcess(id);
    if (victim !== "server" && victim !== "all") return;
    await this.server.kill();
    await this.startAgain();
  }

  /** A server need not start on a full disk or a locked database. */
  async startAgain(): Promise<void> {
    this.server = await startOn(this.#machine).catch((error: unknown) => {
      if (!this.#machine.endAll()) throw error;
      return startOn(this.#machine);
    });
  }
}

function startOn({ dataFolder, clockFile }: Machine): Promise<RunningServer> {
  return startServer({ dataFolder, clockFile, flags });
}

function killProcess(id: number): void {
  try {
    process.kill(id, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}
