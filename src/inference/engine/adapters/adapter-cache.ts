// Cache of adapters in memory, in the form that graphs take as inputs. Evicts the least recently used adapter. Each
// running request holds a reference to its adapter, so an eviction does not affect running requests.
import type { AdapterReference } from "../../../base/domain/generation.ts";
import { overOtherWeights } from "../../../base/domain/transient-errors/missing-base.ts";
import type { ModelConfig } from "../../architectures/config.ts";
import type { LoadedAdapter } from "../model-runner.ts";
import { readAdapter, type AdapterFeeds } from "./read-adapter.ts";
import { WorkerPool } from "../../../base/processes/worker-pool.ts";
import type { AdapterTasks } from "./adapter-tasks.ts";

export interface AdapterCacheOptions {
  readonly countMax: number;
  /** Hex SHA-256 of the base model's weights; adapters trained on other weights are refused. */
  readonly weights?: string;
  /** Thread that reads adapters; if absent, the calling thread reads them. */
  readonly thread?: AdapterThread;
}

interface Kept {
  readonly adapter: LoadedAdapter;
  readonly hash: string | undefined;
}

/** A read that is in progress in the thread. All callers that wait for the adapter share it. */
interface Reading {
  readonly hash: string | undefined;
  readonly done: Promise<void>;
}

export class AdapterCache {
  readonly #config: ModelConfig;
  readonly #options: AdapterCacheOptions;
  /** Adapters by id, the least recently used first. */
  readonly #adapters = new Map<string, Kept>();
  /** Reads in progress by adapter id. */
  readonly #readings = new Map<string, Reading>();
  #readCount = 0;

  constructor(config: ModelConfig, options: AdapterCacheOptions) {
    this.#config = config;
    this.#options = options;
  }

  /**
   * Returns an adapter. If it is not in memory, the calling thread reads it and blocks meanwhile.
   *
   * @throws ServiceError `conflict` if the adapter was trained on other weights, or the folder's content differs from
   * the adapter that was stored there
   */
  load(reference: AdapterReference): LoadedAdapter {
    this.#requireBase(reference);
    const { id, hash } = reference;
    const { adapter } = this.#find(reference) ?? { adapter: this.#named(reference, this.#read(reference)) };
    this.#keep(id, { adapter, hash });
    return adapter;
  }

  /**
   * Starts reading an adapter in the thread.
   *
   * @returns a promise that resolves when the adapter is in memory, and rejects with the errors of {@link load}; null
   * if the adapter is already in memory, or there is no thread
   * @throws ServiceError `conflict` if the adapter was trained on other weights
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

  /** @param isWanted returns false if the adapter was dropped during the read, or requested with another hash */
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
    // Without a hash, each read gets a new revision, because the folder may have changed since the last read.
    return { id, revision: hash ?? `read ${this.#readCount}`, ...feeds };
  }

  /** Stores an adapter in the cache as the most recently used one. */
  #keep(id: string, kept: Kept): void {
    this.#adapters.delete(id);
    this.#adapters.set(id, kept);
    for (const oldest of this.#adapters.keys()) {
      if (this.#adapters.size <= this.#options.countMax) break;
      this.#adapters.delete(oldest);
    }
  }
}

// Reads adapters in a separate thread, so that an engine's steps continue meanwhile. The thread transfers the matrices
// instead of copying them.

/** Time limit of a read in milliseconds, much longer than the largest adapter takes from a slow disk. */
const readMs = 60_000;
/** Memory limit of the thread for JavaScript objects. The adapter's matrices do not count towards it. */
const memoryMebibytes = 512;

export class AdapterThread {
  readonly #pool: WorkerPool<AdapterTasks, ModelConfig>;

  /** Creates the reader without starting a thread. */
  constructor(config: ModelConfig) {
    this.#pool = new WorkerPool({
      module: new URL("./adapter-tasks.js", import.meta.url),
      data: config,
      workerCount: 1,
      stageMs: [readMs],
      memoryMebibytes,
    });
  }

  /** Starts the thread ahead of time, so that the first adapter need not wait for it. */
  startAhead(): void {
    this.#pool.prepare();
  }

  /** @throws ServiceError the errors of `readAdapter` and `WorkerPool.run` */
  read({ folder, hash }: AdapterReference): Promise<AdapterFeeds> {
    return this.#pool.run("read", { folder, hash });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
