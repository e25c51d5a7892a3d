// The worker that reads large bodies.
import { serveTasks } from "../../processes/serve-tasks.ts";
import type { BodyTask } from "./body-reader.ts";
import { bodyTasks } from "../../wire/body-tasks.ts";

serveTasks((task) => {
  // Only a body reader starts this worker.
  const { kind, pieces, limits, caller } = task as BodyTask;
  const result = bodyTasks[kind](Buffer.concat(pieces), limits, caller);
  const transfer = "lines" in result ? result.lines.map((pack) => pack.buffer) : [];
  return { result, transfer };
});
