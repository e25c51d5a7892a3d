// The thread that checks constraints: reads them as the engine does, beside whatever the engine serves.
import { workerData } from "node:worker_threads";
import { systemClock } from "../../domain/clock.ts";
import type { Constraint } from "../../domain/constraint.ts";
import { checkConstraint } from "../../grammar/check.ts";
import { serveTasks } from "../../processes/serve-tasks.ts";
import type { GrammarLimits } from "../../regex/limits.ts";

export interface CheckTask {
  readonly constraint: Constraint;
  /** As JSON. */
  readonly instances: readonly string[];
}

// What a constraint checker gave this thread.
const limits = workerData as GrammarLimits;

serveTasks((task) => {
  // Only a constraint checker starts this thread.
  const { constraint, instances } = task as CheckTask;
  return { result: checkConstraint(constraint, instances, { limits, clock: systemClock }), transfer: [] };
});
