// Takes the next step of a learning model: judges next messages, starts a cycle, or continues the cycle in progress.
// Each step ends with one write, so that another server can continue after it.
import { isFinalStage } from "../../base/domain/learning/learning-cycle.ts";
import type { Learning, LearningHold } from "../../base/domain/learning/learning-store.ts";
import { continueCycle } from "./continue-cycle.ts";
import { judgeNextMessages } from "./next-messages.ts";
import { startCycle } from "./start-cycle.ts";
import { callerOf, type StepDependencies } from "./step-dependencies.ts";

/**
 * Takes one step.
 *
 * @throws ServiceError if the step fails; the learning loop tries again later
 */
export async function takeStep(
  dependencies: StepDependencies,
  learning: Learning,
  hold: LearningHold,
  signal: AbortSignal,
): Promise<void> {
  const model = await dependencies.models.find(learning.modelId);
  if (model === null) return;
  const step = { model, learning, hold, signal };
  let fault: unknown = null;
  const { order } = learning;
  if (order.signals.includes("next_message")) {
    const caller = callerOf(step);
    const ask = dependencies.askAs(caller);
    const task = { ...step, order, caller, ask, now: dependencies.clock.now() };
    await judgeNextMessages(dependencies, task).catch((error: unknown) => (fault = error));
  }
  const cycle = await dependencies.learning.newestCycle(model.id);
  if (cycle === null || isFinalStage(cycle.stage)) await startCycle(dependencies, step, cycle);
  else await continueCycle(dependencies, step, cycle);
  if (fault !== null) throw fault;
}
