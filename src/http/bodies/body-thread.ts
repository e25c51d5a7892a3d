// The worker that reads large bodies.
import { serveTasks } from "../../processes/serve-tasks.ts";
import type { BodyTask } from "./body-reader.ts";
import { bodyTasks, type BodyKind, type BodyKinds } from "../../wire/body-tasks.ts";

serveTasks((task) => {
  // Only a body reader starts this worker.
  const { kind, pieces, limits, sender } = task as BodyTask;
  const result = bodyTasks[kind](joined(pieces), limits, sender);
  return { result, transfer: buffersOf(result) };
});

/** A body that is in one place already is not copied. */
function joined(pieces: BodyTask["pieces"]): Buffer {
  const [{ buffer, byteOffset, length }] = pieces;
  return pieces.length === 1 ? Buffer.from(buffer, byteOffset, length) : Buffer.concat(pieces);
}

function buffersOf(result: BodyKinds[BodyKind]): readonly ArrayBuffer[] {
  if ("lines" in result) return result.lines.map((pack) => pack.buffer);
  return "text" in result ? [result.text.buffer] : [];
}
