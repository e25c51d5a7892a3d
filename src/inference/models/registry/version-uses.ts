// Which versions this server's requests run on, as other servers on the database see it: those are not deleted by themselves.
// A version is written down when it is first asked for, and left some time after its last request; all of them go with the
// server's lease. Which requests run at this moment, and are spared by this server itself, `AdaptersInUse` counts.
import type { Clock } from "../../../base/domain/clock.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import { adapterId, type ModelStore, type VersionKey } from "../../../base/domain/model.ts";

export interface VersionUsesDependencies {
  readonly store: Pick<ModelStore, "useVersion" | "endUse">;
  readonly server: () => string;
  /** The adapters that requests of this server run on, or are about to. */
  readonly adaptersInUse: () => Iterable<string>;
  readonly clock: Clock;
  /** Told what could not be written; it is tried again. */
  readonly onFault: (error: unknown) => void;
}

/** How often versions that nobody asks for any more are looked for. */
const lookMs = 15_000;
/** Longer than a request takes from its version to where it is counted. */
const idleMs = 60_000;

interface Use {
  readonly version: VersionKey;
  readonly server: string;
  lastMs: number;
}

export class VersionUses implements Service {
  readonly #dependencies: VersionUsesDependencies;
  /** By adapter. */
  readonly #uses = new Map<string, Use>();
  /** What is written, one after the other. */
  #writing: Promise<unknown> = Promise.resolve();
  #looking: Promise<void> = Promise.resolve();
  readonly #life = serviceOf("version uses", {
    start: async (signal) => {
      this.#looking = this.#keepLooking(signal);
    },
    stop: () => this.#looking,
  });

  constructor(dependencies: VersionUsesDependencies) {
    this.#dependencies = dependencies;
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** Keeps a version that is about to be used; false where there is none any more. */
  async use({ modelId, step }: VersionKey): Promise<boolean> {
    const { clock, server } = this.#dependencies;
    const use = { version: { modelId, step }, server: server(), lastMs: clock.monotonicMs() };
    const known = this.#uses.get(adapterId(modelId, step));
    if (known?.server !== use.server) return this.#write(() => this.#begin(use), true);
    known.lastMs = use.lastMs;
    return true;
  }

  /** The models that versions in use are of. */
  models(): ReadonlySet<string> {
    return new Set([...this.#uses.values()].map(({ version }) => version.modelId));
  }

  async #begin(use: Use): Promise<boolean> {
    const { modelId, step } = use.version;
    const isThere = await this.#dependencies.store.useVersion(use.version, use.server);
    if (isThere) this.#uses.set(adapterId(modelId, step), use);
    return isThere;
  }

  /** Ends the uses of versions that have had no request for a while. */
  async #endIdle(): Promise<void> {
    const { store, clock, adaptersInUse } = this.#dependencies;
    for (const [id, { version, server, lastMs }] of this.#uses) {
      if (clock.monotonicMs() - lastMs < idleMs || [...adaptersInUse()].includes(id)) continue;
      this.#uses.delete(id);
      await store.endUse(version, server);
    }
  }

  /** A database that cannot be written just now keeps nobody from being served. */
  async #write<Result>(write: () => Promise<Result>, otherwise: Result): Promise<Result> {
    const written = this.#writing.then(write).catch((error: unknown) => {
      this.#dependencies.onFault(error);
      return otherwise;
    });
    this.#writing = written;
    return written;
  }

  async #keepLooking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Rejects when the service stops.
      await this.#dependencies.clock.sleep(lookMs, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.#write(() => this.#endIdle(), undefined);
    }
  }
}

// Which adapters requests run on at this moment, or are about to: those are not deleted by themselves.

export class AdaptersInUse {
  /** How many requests each has. */
  readonly #counts = new Map<string, number>();

  /**
   * Counts a request in.
   *
   * @param id null for the base model, which needs no keeping
   * @returns what counts it out, once
   */
  enter(id: string | null): () => void {
    if (id === null) return () => undefined;
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    return () => {
      const left = (this.#counts.get(id) ?? 0) - 1;
      if (left > 0) this.#counts.set(id, left);
      else this.#counts.delete(id);
    };
  }

  ids(): Iterable<string> {
    return this.#counts.keys();
  }
}
