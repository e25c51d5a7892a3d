// Has rows made of stored trajectories in a worker, apart from the server's event loop.
import { WorkerPool } from "../../processes/worker-pool.ts";
import type { RowTaskKind, RowTasks } from "../../wire/trajectories/row-tasks.ts";
import { buffersOf } from "./handed-over.ts";

const poolOptions = {
  module: new URL("./row-thread.js", import.meta.url),
  workerCount: 1,
  stageMs: [120_000],
  memoryMebibytes: 2048,
};

export class RowReader {
  readonly #pool = new WorkerPool(poolOptions);

  /**
   * Runs a task; the bytes in it are given away.
   *
   * @param client whose tasks take turns with others'
   * @throws ServiceError `too_large` where a trajectory takes more memory than there is
   */
  async run<Kind extends RowTaskKind>(
    kind: Kind,
    task: RowTasks[Kind]["task"],
    client: string,
  ): Promise<RowTasks[Kind]["result"]> {
    // The worker ran the task of this kind.
    return (await this.#pool.run({ kind, task }, buffersOf(task), { client })) as RowTasks[Kind]["result"];
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }
}
