// For tests: a worker that does what it is told.
import { unreachable } from "../../domain/assert.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { serveTasks } from "../serve-tasks.ts";

export type SmallTask =
  | { readonly kind: "double"; readonly value: number }
  | { readonly kind: "count"; readonly bytes: Uint8Array }
  | { readonly kind: "refuse" | "throw" | "fill" | "hang" };

serveTasks((task) => {
  // The test sends nothing else.
  return { result: resultOf(task as SmallTask), transfer: [] };
});

function resultOf(task: SmallTask): number {
  switch (task.kind) {
    case "double":
      return task.value * 2;
    case "count":
      return task.bytes.length;
    case "refuse":
      throw new ServiceError({
        code: "conflict",
        faults: [{ location: ["body"], message: "no", type: "t" }],
      });
    case "throw":
      throw new TypeError("a bug");
    case "fill":
      return fill();
    case "hang":
      return hang();
    default:
      return unreachable(task);
  }
}

function fill(): never {
  const kept: object[] = [];
  for (;;) kept.push({ some: kept.length });
}

function hang(): never {
  for (;;);
}
