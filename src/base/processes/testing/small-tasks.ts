// For tests: a worker with a task for each way in which a worker may behave.
import { threadId } from "node:worker_threads";
import { unreachable } from "../../domain/assert.ts";
import { ServiceError } from "../../domain/service-error.ts";
import type { TaskHandlers } from "../tasks.ts";

export type SmallTask =
  | { readonly kind: "double"; readonly value: number }
  | { readonly kind: "count"; readonly bytes: Uint8Array }
  /**
   * Waits, without an event loop, until the first number of the gate is not 0. Sets the second number just before it
   * answers.
   */
  | { readonly kind: "wait"; readonly gate: Int32Array }
  /** `give` answers with bytes that belong to the worker, and `own` with the number of these bytes. */
  | { readonly kind: "give" | "own" }
  /** `data` answers with the data of the worker, and `thread` with the id of its thread. */
  | { readonly kind: "data" | "thread" }
  | { readonly kind: "refuse" | "refuse-for-now" | "full-disk" | "throw" | "fill" | "exit" }
  /** Hangs when it reaches the stage with this index. */
  | { readonly kind: "hang"; readonly stage: number };

const own = new Uint8Array(8);

export interface SmallTasks {
  readonly do: { readonly task: SmallTask; readonly result: unknown };
}

export function openTasks(data: unknown): TaskHandlers<SmallTasks> {
  return { do: (task, beginNextStage) => resultOf(task, data, beginNextStage) };
}

function resultOf(task: SmallTask, data: unknown, beginNextStage: () => void): unknown {
  switch (task.kind) {
    case "double":
      return task.value * 2;
    case "count":
      return task.bytes.length;
    case "give":
      return { some: [{ bytes: own }] };
    case "own":
      return own.length;
    case "wait":
      return waitAt(task.gate);
    case "data":
      return data;
    case "thread":
      return threadId;
    case "refuse":
      throw new ServiceError({
        code: "conflict",
        faults: [{ location: ["body"], message: "no", type: "t" }],
      });
    case "full-disk":
      throw new Error("nothing was written", {
        cause: Object.assign(new Error("no space left"), { code: "ENOSPC", path: () => "not to be copied" }),
      });
    case "refuse-for-now":
      throw new ServiceError({
        code: "unavailable",
        message: "later",
        retryAfterSeconds: 7,
        obstacle: "missing-base",
        cause: { is: "no error", how: () => "nor to be copied" },
      });
    case "throw":
      throw new TypeError("a bug");
    case "fill":
      return fill();
    case "exit":
      return process.exit(7);
    case "hang":
      for (let stage = 0; stage < task.stage; stage++) beginNextStage();
      return hang();
    default:
      return unreachable(task);
  }
}

function waitAt(gate: Int32Array): string {
  Atomics.wait(gate, 0, 0);
  Atomics.store(gate, 1, 1);
  Atomics.notify(gate, 1);
  return "opened";
}

function fill(): never {
  const kept: object[] = [];
  for (;;) kept.push({ some: kept.length });
}

function hang(): never {
  for (;;);
}
