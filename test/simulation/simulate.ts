// Runs one simulated world from its seed to the verdict. Servers and clients share a database and a disk: first with
// faults, then without faults until all work is done. Then the servers stop, a last server starts and cleans up, and
// the history is checked.
import { ServiceError } from "../../src/base/domain/service-error.ts";
import type { Logger } from "../../src/base/telemetry/logger.ts";
import { checkHistory } from "./check/check-history.ts";
import { Client, type Known } from "./clients.ts";
import { type FaultKind, Faults } from "./faults.ts";
import type { Operation } from "./history.ts";
import { remainsOf } from "./remains.ts";
import { type SimulatedServer, startServer, type ServerPlace } from "./server.ts";
import { SimulatedDatabase } from "./world/database.ts";
import { SimulatedDisk } from "./world/disk.ts";
import { beginWorld, endWorld, mountDisk } from "./world/node-world.ts";
import { firstMoment, SimulatedProcess } from "./world/process.ts";
import { Scheduler, type Watch } from "./world/scheduler.ts";

export interface SimulationOptions {
  /** Called with every event. */
  readonly watch?: Watch;
  readonly logger?: Logger;
}

export interface SimulationResult {
  readonly seed: number;
  /** Descriptions of the broken promises; empty if all held. */
  readonly violations: readonly string[];
  /** Hash of all events. Two runs have the same hash if the same events happened at the same simulated times. */
  readonly trace: number;
  readonly eventCount: number;
  /** Duration in simulated seconds. */
  readonly seconds: number;
  readonly operations: readonly Operation[];
  readonly faults: ReadonlyMap<FaultKind, number>;
}

const clientCount = 3;
const operationsEach = 20;
/** Latest simulated time at which faults end, in milliseconds. */
const faultMsMax = 120_000;
/** Simulated time in milliseconds within which all work must end after the last fault. */
const quietMsMax = 900_000;

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationResult> {
  const world = new World(seed, options);
  try {
    const violations = await world.run();
    return { seed, violations, ...world.result() };
  } finally {
    world.close();
  }
}

class World {
  readonly #scheduler: Scheduler;
  readonly #faults: Faults;
  readonly #database: SimulatedDatabase;
  readonly #disk: SimulatedDisk;
  readonly #place: ServerPlace;
  readonly #history: Operation[] = [];
  readonly #violations: string[] = [];
  /** Running servers, keyed by the number of their place. A place has at most one server at a time. */
  readonly #servers = new Map<number, SimulatedServer>();
  readonly #processes = new Set<SimulatedProcess>();
  readonly #serverCount: number;
  #processCount = 0;
  #isEnding = false;

  constructor(seed: number, { watch, logger = silent }: SimulationOptions) {
    this.#scheduler = new Scheduler(seed, watch ?? null);
    const { random } = this.#scheduler;
    beginWorld(random);
    this.#faults = new Faults(this.#scheduler);
    this.#database = new SimulatedDatabase(this.#scheduler, this.#faults.database);
    this.#disk = new SimulatedDisk(() => firstMoment + this.#scheduler.nowMs);
    this.#serverCount = 1 + random.index(3);
    this.#place = {
      scheduler: this.#scheduler,
      database: this.#database,
      logger,
      checkpointsKept: random.index(3),
      failure: this.#faults.training,
    };
  }

  async run(): Promise<readonly string[]> {
    const story = this.#story();
    let isOver = false;
    let failure: unknown = null;
    story.then(
      () => (isOver = true),
      (error: unknown) => {
        failure = error;
        isOver = true;
      },
    );
    const isDone = await this.#scheduler.run(() => isOver, faultMsMax + quietMsMax + 600_000);
    if (failure !== null) throw failure;
    if (!isDone) this.#violations.push("the world came to no end");
    return this.#violations;
  }

  result(): Omit<SimulationResult, "seed" | "violations"> {
    return {
      trace: this.#scheduler.trace,
      eventCount: this.#scheduler.eventCount,
      seconds: Math.round(this.#scheduler.nowMs / 1000),
      operations: this.#history,
      faults: this.#faults.counts,
    };
  }

  close(): void {
    endWorld();
    this.#database.close();
  }

  async #story(): Promise<void> {
    const supervisors = Array.from({ length: this.#serverCount }, (_, place) => this.#supervise(place));
    const nemesis = this.#goWrong();
    const known: Known = { models: [], jobs: [], files: [], feedback: [] };
    const clientPlace = {
      scheduler: this.#scheduler,
      database: this.#database,
      servers: () => [...this.#servers.values()],
      history: this.#history,
    };
    const clients = Array.from(
      { length: clientCount },
      (_, index) => new Client(clientPlace, known, `client-${index}`),
    );
    await Promise.all(clients.slice(0, 2).map((client) => client.makeModel()));
    await Promise.all(clients.map((client) => client.run(operationsEach, 1200)));
    await this.#quieten(nemesis);
    await this.#untilEnded();
    this.#isEnding = true;
    for (const server of this.#servers.values()) await server.stop();
    await Promise.all(supervisors);
    await this.#tidy();
    const remains = { ...remainsOf(this.#database, this.#disk), wasFull: this.#faults.counts.has("full") };
    this.#violations.push(...checkHistory(this.#history, remains));
  }

  async #quieten(nemesis: Promise<void>): Promise<void> {
    this.#faults.end();
    this.#scheduler.note("quiet");
    await nemesis;
    this.#database.comeBack();
    for (const { process } of this.#servers.values()) process.clock.set(0);
  }

  /** Waits until every job has ended. */
  async #untilEnded(): Promise<void> {
    const untilMs = this.#scheduler.nowMs + quietMsMax;
    for (;;) {
      const open = this.#database.rows("select id, state from jobs where state in ('queued', 'running')");
      if (open.length === 0 && this.#servers.size === this.#serverCount) return;
      if (this.#scheduler.nowMs > untilMs) {
        const jobs = open.map((row) => `${String(row["id"])} is ${String(row["state"])}`).join(", ");
        this.#violations.push(
          `after ${quietMsMax / 1000} s without faults ${this.#servers.size} of ${this.#serverCount} servers are up, and ${jobs || "no job"} has not ended`,
        );
        return;
      }
      await this.#pass(2000);
    }
  }

  /**
   * Advances the clock and starts a last server, which removes what dead servers left behind. A server removes such
   * leftovers only after the dead servers' leases have expired, and files only after an hour.
   */
  async #tidy(): Promise<void> {
    this.#database.setClock(2 * 3_600_000);
    for (let start = 0; start <= this.#serverCount; start++) {
      const process = this.#newProcess();
      const server = await startServer({ ...this.#place, number: start % this.#serverCount }, process);
      await this.#pass(start === 0 ? 20_000 : 1000);
      await server.stop();
      process.die();
    }
  }

  /** Keeps a server running in a place, and starts another one when it has ended. */
  async #supervise(place: number): Promise<void> {
    while (!this.#isEnding) {
      const process = this.#newProcess();
      const died = new Promise<void>((resolve) => process.onDeath(resolve));
      await Promise.race([this.#startIn(place, process), died]);
      await Promise.race([died, this.#untilStopped(place)]);
      this.#servers.delete(place);
      process.die();
      this.#processes.delete(process);
      if (!this.#isEnding) await this.#pass(this.#scheduler.shortTime(5000));
    }
  }

  async #startIn(place: number, process: SimulatedProcess): Promise<void> {
    try {
      const server = await startServer({ ...this.#place, number: place }, process);
      if (process.isAlive) this.#servers.set(place, server);
    } catch (error) {
      this.#scheduler.note(`a start failed: ${error instanceof ServiceError ? error.code : String(error)}`);
      process.die();
    }
  }

  /** Resolves when the server has stopped cleanly. */
  async #untilStopped(place: number): Promise<void> {
    const server = this.#servers.get(place);
    if (server === undefined) return;
    while (!this.#isEnding && !this.#stopping.has(server)) {
      if (!server.process.isAlive) return;
      await this.#pass(500);
    }
    await server.stop();
  }

  readonly #stopping = new Set<SimulatedServer>();

  /** Causes one fault after another. */
  async #goWrong(): Promise<void> {
    const pauseMs = 1000 + 9000 * this.#scheduler.random.uniform();
    const untilMs = this.#scheduler.nowMs + faultMsMax;
    const acts = this.#acts().filter(({ kind }) => this.#faults.kinds.has(kind));
    while (!this.#faults.isOver && this.#scheduler.nowMs < untilMs) {
      await this.#pass(2 * pauseMs * this.#scheduler.random.uniform());
      if (acts.length === 0 || this.#faults.isOver) continue;
      const { kind, act } = acts[this.#scheduler.random.index(acts.length)];
      this.#faults.count(kind);
      this.#scheduler.note(`fault: ${kind}`);
      await act();
    }
  }

  #acts(): readonly { readonly kind: FaultKind; readonly act: () => Promise<void> | void }[] {
    const { random } = this.#scheduler;
    const one = <T>(items: Iterable<T>): T | undefined => {
      const all = [...items];
      return all[random.index(all.length)];
    };
    const lasting = (begin: (is: boolean) => void, maxMs: number) => async (): Promise<void> => {
      begin(true);
      await this.#pass(this.#scheduler.shortTime(maxMs));
      begin(false);
    };
    return [
      { kind: "kill", act: () => one(this.#processes)?.die() },
      {
        kind: "stop",
        act: () => {
          const server = one(this.#servers.values());
          if (server !== undefined) this.#stopping.add(server);
        },
      },
      {
        kind: "power",
        act: () => {
          for (const process of this.#processes) process.die();
          this.#disk.losePower(random);
        },
      },
      {
        kind: "database",
        act: lasting((is) => (is ? this.#database.goAway() : this.#database.comeBack()), 30_000),
      },
      { kind: "stall", act: () => one(this.#processes)?.stall(this.#scheduler.shortTime(40_000)) },
      {
        kind: "cut",
        act: async () => {
          const process = one(this.#processes);
          if (process === undefined) return;
          this.#database.cutOff(process);
          await this.#pass(this.#scheduler.shortTime(40_000));
          this.#database.giveBack(process);
        },
      },
      { kind: "full", act: lasting((is) => this.#faults.fill(is), 20_000) },
      { kind: "slow", act: lasting((is) => this.#faults.slow(is), 30_000) },
      {
        kind: "clock",
        act: () =>
          one(this.#processes)?.clock.step((random.uniform() - 0.5) * 2 * 10 ** (3 + random.index(5))),
      },
    ];
  }

  #newProcess(): SimulatedProcess {
    const process = new SimulatedProcess(this.#scheduler, this.#processCount++);
    this.#processes.add(process);
    mountDisk({
      disk: this.#disk,
      process,
      scheduler: this.#scheduler,
      faults: this.#faults.disk,
    });
    return process;
  }

  #pass(durationMs: number): Promise<void> {
    return this.#scheduler.pass(durationMs, "world", null);
  }
}
