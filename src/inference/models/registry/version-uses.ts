// Records in the shared database which versions this server's requests use, so that other servers do not delete them
// automatically. A version is recorded at its first request, and its record is removed some time after its last
// request, or when the server's lease ends. `AdaptersInUse`, which counts running requests, prevents deletion by this
// server itself.
import type { Clock } from "../../../base/domain/clock.ts";
import type { Service } from "../../../base/domain/lifecycle.ts";
import { adapterId, type ModelStore, type VersionKey } from "../../../base/domain/model.ts";
import { repeatingService } from "../../../base/domain/waiting/repeat-until.ts";

export interface VersionUsesDependencies {
  readonly store: Pick<ModelStore, "useVersion" | "endUse">;
  readonly server: () => string;
  /** Returns the ids of adapters that requests of this server use, or are about to use. */
  readonly adaptersInUse: () => Iterable<string>;
  readonly clock: Clock;
  /** Receives errors of writes. Failed writes are retried. */
  readonly onFault: (error: unknown) => void;
}

/** Interval in milliseconds between searches for idle versions. */
const lookMs = 15_000;
/**
 * Time in milliseconds without requests after which the record of a version is removed. It is longer than the time
 * between resolving a request's version and counting the request in `AdaptersInUse`.
 */
const idleMs = 60_000;

interface Use {
  readonly version: VersionKey;
  readonly server: string;
  lastMs: number;
}

export class VersionUses implements Service {
  readonly #dependencies: VersionUsesDependencies;
  /** Recorded uses of versions, by adapter id. */
  readonly #uses = new Map<string, Use>();
  /** The latest write to the database. The next write begins when this one has ended. */
  #writing: Promise<unknown> = Promise.resolve();
  readonly #life: Service;

  constructor(dependencies: VersionUsesDependencies) {
    this.#dependencies = dependencies;
    const { clock, onFault } = dependencies;
    this.#life = repeatingService(
      "version uses",
      { clock, pauseMs: lookMs, onFault, pausesFirst: true },
      () => this.#write(() => this.#endIdle(), undefined),
    );
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  /**
   * Protects a version that is about to be used from deletion by other servers. Resolves to false if the version no
   * longer exists.
   */
  async use({ modelId, step }: VersionKey): Promise<boolean> {
    const { clock, server } = this.#dependencies;
    const use = { version: { modelId, step }, server: server(), lastMs: clock.monotonicMs() };
    const known = this.#uses.get(adapterId(modelId, step));
    if (known?.server !== use.server) return this.#write(() => this.#begin(use), true);
    known.lastMs = use.lastMs;
    return true;
  }

  /** Returns the ids of the models whose versions are in use. */
  models(): ReadonlySet<string> {
    return new Set([...this.#uses.values()].map(({ version }) => version.modelId));
  }

  async #begin(use: Use): Promise<boolean> {
    const { modelId, step } = use.version;
    const isThere = await this.#dependencies.store.useVersion(use.version, use.server);
    if (isThere) this.#uses.set(adapterId(modelId, step), use);
    return isThere;
  }

  /** Removes the records of versions that have had no request for {@link idleMs}. */
  async #endIdle(): Promise<void> {
    const { store, clock, adaptersInUse } = this.#dependencies;
    for (const [id, { version, server, lastMs }] of this.#uses) {
      if (clock.monotonicMs() - lastMs < idleMs || [...adaptersInUse()].includes(id)) continue;
      this.#uses.delete(id);
      await store.endUse(version, server);
    }
  }

  /**
   * Writes to the database after all earlier writes. If a write fails, reports the error and resolves to `otherwise`,
   * so that requests continue.
   */
  async #write<Result>(write: () => Promise<Result>, otherwise: Result): Promise<Result> {
    const written = this.#writing.then(write).catch((error: unknown) => {
      this.#dependencies.onFault(error);
      return otherwise;
    });
    this.#writing = written;
    return written;
  }
}

// Counts the requests that use each adapter or are about to use it. Adapters in use are not deleted automatically.

export class AdaptersInUse {
  /** Number of requests per adapter. */
  readonly #counts = new Map<string, number>();

  /**
   * Counts a request as a use of an adapter.
   *
   * @param id id of the adapter; null for the base model, which needs no protection
   * @returns a function that ends the use; idempotent
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
