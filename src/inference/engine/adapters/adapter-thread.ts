// Reads adapters beside the steps of an engine, which none of them holds up: the matrices are handed over as they are.
import type { AdapterReference } from "../../../base/domain/generation.ts";
import type { ModelConfig } from "../../model/config.ts";
import { WorkerPool } from "../../../base/processes/worker-pool.ts";
import type { AdapterTasks } from "./adapter-tasks.ts";
import type { AdapterFeeds } from "./read-adapter.ts";

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
