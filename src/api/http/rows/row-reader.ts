// Has rows made of stored trajectories in a worker, apart from the server's event loop.
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
   * Runs a task; the bytes in it are given away.
   *
   * @param client whose tasks take turns with others'
   * @throws ServiceError `too_large` where a trajectory takes more memory than there is
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
