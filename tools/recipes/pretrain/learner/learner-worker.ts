// A worker thread of the parallel learner: receives parts of batches, returns losses, and writes gradients into shared
// memory. It ends only between batches, on request.
import { parentPort, workerData } from "node:worker_threads";
import { present } from "../../../../src/base/domain/assert.ts";
import { createLearner } from "./learner.ts";
import { parameterViews, type WorkerAnswer, type WorkerSetup } from "./parallel-learner.ts";
import type { Batch } from "./rows.ts";

const port = present(parentPort, "the port of a worker thread");
// Safe cast: parallel-learner.ts passes this setup.
const setup = workerData as WorkerSetup;
const learner = await createLearner(setup.config, { threads: 1 });
const shared = parameterViews(setup.config, setup.weights);
const results = parameterViews(setup.config, setup.gradients);
// Copies, because the runtime does not accept arrays in shared memory.
const weights = new Map([...shared].map(([name, view]) => [name, new Float32Array(view.length)]));

async function answer(batch: Batch): Promise<void> {
  for (const [name, view] of shared) present(weights.get(name), name).set(view);
  const { loss, gradients } = await learner.differentiate(weights, batch);
  for (const [name, view] of results) view.set(present(gradients.get(name), name));
  port.postMessage({ loss } satisfies WorkerAnswer);
}

async function end(): Promise<void> {
  await learner.close();
  port.close();
}

// A failure becomes an unhandled rejection, which ends this thread and reaches the parent thread as an error.
port.on("message", (batch: Batch | null) => void (batch === null ? end() : answer(batch)));
port.postMessage("ready");
