// Adapters in memory, ready to be fed to a graph; the least recently used one is dropped when there are too many.
// Whoever runs an adapter holds it by itself, so dropping one here never harms a running request.
import type { AdapterReference } from "../../../base/domain/generation.ts";
import { overOtherWeights } from "../../../base/domain/transient-errors/missing-base.ts";
import type { ModelConfig } from "../../architectures/config.ts";
import type { LoadedAdapter } from "../model-runner.ts";
import { readAdapter, type AdapterFeeds } from "./read-adapter.ts";
import { WorkerPool } from "../../../base/processes/worker-pool.ts";
import type { AdapterTasks } from "./adapter-tasks.ts";

export interface AdapterCacheOptions {
  readonly countMax: number;
  /** Hex SHA-256 of the base model's: adapters of others are refused. */
  readonly weights?: string;
  /** With it, adapters can be read beside the caller's thread. */
  readonly thread?: AdapterThread;
}

interface Kept {
  readonly adapter: LoadedAdapter;
  readonly hash: string | undefined;
}

/** One that is being read in the thread, for all who wait for it. */
interface Reading {
  readonly hash: string | undefined;
  readonly done: Promise<void>;
}

export class AdapterCache {
  readonly #config: ModelConfig;
  readonly #options: AdapterCacheOptions;
  /** By their ids, the least recently used first. */
  readonly #adapters = new Map<string, Kept>();
  /** By their ids. */
  readonly #readings = new Map<string, Reading>();
  #readCount = 0;

  constructor(config: ModelConfig, options: AdapterCacheOptions) {
    this.#config = config;
    this.#options = options;
  }

  /**
   * Reads it now where it is not in memory.
   *
   * @throws ServiceError `conflict` when the adapter was trained over other weights, or the folder does not hold what was
   *   stored there
   */
  load(reference: AdapterReference): LoadedAdapter {
    this.#requireBase(reference);
    const { id, hash } = reference;
    const { adapter } = this.#find(reference) ?? { adapter: this.#named(reference, this.#read(reference)) };
    this.#keep(id, { adapter, hash });
    return adapter;
  }

  /**
   * Has it read in the thread.
   *
   * @returns what resolves when it is in memory, and rejects as {@link load} throws; null where it is there, or there is no
   *   thread
   * @throws ServiceError `conflict` when the adapter was trained over other weights
   */
  prepare(reference: AdapterReference): Promise<void> | null {
    this.#requireBase(reference);
    const { thread } = this.#options;
    if (thread === undefined || this.#find(reference) !== null) return null;
    const { id, hash } = reference;
    const running = this.#readings.get(id);
    if (running !== undefined && running.hash === hash) return running.done;
    const reading: Reading = {
      hash,
      done: this.#readIn(thread, reference, () => this.#readings.get(id) === reading),
    };
    this.#readings.set(id, reading);
    return reading.done;
  }

  drop(id: string): void {
    this.#adapters.delete(id);
    this.#readings.delete(id);
  }

  /** @param isWanted whether it was neither dropped meanwhile nor asked for with other contents */
  async #readIn(thread: AdapterThread, reference: AdapterReference, isWanted: () => boolean): Promise<void> {
    const { id, hash } = reference;
    try {
      const feeds = await thread.read(reference);
      if (isWanted()) this.#keep(id, { adapter: this.#named(reference, feeds), hash });
    } finally {
      if (isWanted()) this.#readings.delete(id);
    }
  }

  #requireBase({ base }: AdapterReference): void {
    const { weights } = this.#options;
    if (base !== undefined && weights !== undefined && base !== weights)
      throw overOtherWeights(base, weights);
  }

  #find({ id, hash }: AdapterReference): Kept | null {
    const kept = this.#adapters.get(id);
    return kept !== undefined && kept.hash === hash ? kept : null;
  }

  #read(reference: AdapterReference): AdapterFeeds {
    return readAdapter(reference, this.#config);
  }

  #named({ id, hash }: AdapterReference, feeds: AdapterFeeds): LoadedAdapter {
    this.#readCount += 1;
    // Without a hash nobody knows whether a folder still holds what was read from it before.
    return { id, revision: hash ?? `read ${this.#readCount}`, ...feeds };
  }

  /** As the one that was used last. */
  #keep(id: string, kept: Kept): void {
    this.#adapters.delete(id);
    this.#adapters.set(id, kept);
    for (const oldest of this.#adapters.keys()) {
      if (this.#adapters.size <= this.#options.countMax) break;
      this.#adapters.delete(oldest);
    }
  }
}

// Reads adapters beside the steps of an engine, which none of them holds up: the matrices are handed over as they are.

/** Far longer than the largest takes from a slow disk. */
const readMs = 60_000;
/** Of objects; matrices are none. */
const memoryMebibytes = 512;

export class AdapterThread {
  readonly #pool: WorkerPool<AdapterTasks, ModelConfig>;

  /** Starts nothing yet. */
  constructor(config: ModelConfig) {
    this.#pool = new WorkerPool({
      module: new URL("./adapter-tasks.js", import.meta.url),
      data: config,
      workerCount: 1,
      stageMs: [readMs],
      memoryMebibytes,
    });
  }

  /** So that the first adapter need not wait for it. */
  startAhead(): void {
    this.#pool.prepare();
  }

  /** @throws ServiceError as `readAdapter`; as `WorkerPool.run` */
  read({ folder, hash }: AdapterReference): Promise<AdapterFeeds> {
    return this.#pool.run("read", { folder, hash });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
