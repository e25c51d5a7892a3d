// Converts stored trajectories to rows in a worker thread, so that the server's event loop continues meanwhile.
import { buffersOf } from "../../../base/processes/tasks.ts";
import { WorkerPool } from "../../../base/processes/worker-pool.ts";
import { rowTaskModule, type RowTaskKind, type RowTasks } from "../../wire/trajectories/row-tasks.ts";

export class RowReader {
  readonly #pool = new WorkerPool<RowTasks>({
    module: rowTaskModule,
    workerCount: 1,
    stageMs: [120_000],
    memoryMebibytes: 2048,
  });

  /**
   * Runs a task in the worker. Transfers the task's buffers, so that the caller can no longer use them.
   *
   * @param client tenant whose tasks take turns with those of other tenants
   * @throws ServiceError `too_large` if a trajectory takes more memory than available
   */
  run<Kind extends RowTaskKind>(
    kind: Kind,
    task: RowTasks[Kind]["task"],
    client: string,
  ): Promise<RowTasks[Kind]["result"]> {
    return this.#pool.run(kind, task, { client, transfer: buffersOf(task) });
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }
}
