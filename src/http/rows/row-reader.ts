// Has rows made of stored trajectories in a worker, apart from the server's event loop.
import { WorkerPool } from "../../processes/worker-pool.ts";
import type { RowTaskKind, RowTasks } from "../../wire/trajectories/row-tasks.ts";

export class RowReader {
  readonly #pool = new WorkerPool({
    module: new URL("./row-thread.js", import.meta.url),
    workerCount: 1,
    stageMs: [120_000],
    memoryMebibytes: 2048,
  });

  /**
   * @param client whose tasks take turns with others'
   * @throws ServiceError `too_large` where a group takes more memory than there is
   */
  async run<Kind extends RowTaskKind>(
    kind: Kind,
    task: RowTasks[Kind]["task"],
    client: string,
  ): Promise<RowTasks[Kind]["result"]> {
    const pieces = "pieces" in task ? task.pieces : "lines" in task ? task.lines : [];
    const transfer = pieces.map((piece) => piece.buffer);
    // The worker ran the task of this kind.
    return (await this.#pool.run({ kind, task }, transfer, { client })) as RowTasks[Kind]["result"];
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }
}
