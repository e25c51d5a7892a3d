// Starts a learning cycle once there are enough signals and held-out prompts. One transaction stores the job, its
// feedback and the cycle.
import { newUuid7 } from "../../base/domain/random.ts";
import { type LearningCycle, newCycleProgress } from "../../base/domain/learning/learning-cycle.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { SubmitJob } from "../rewards/automatic/create-automatic-job.ts";
import { createPreferenceJob } from "../rewards/preferences/preference-jobs.ts";
import { planCycle } from "./plan-cycle.ts";
import type { Step, StepDependencies } from "./step-dependencies.ts";

/**
 * Starts a cycle if the model's settings allow one.
 *
 * @param last newest cycle of the model; null if there is none
 * @throws ServiceError if there is too much feedback, or the job queue is full
 */
export async function startCycle(
  dependencies: StepDependencies,
  { model, learning: { order }, hold }: Pick<Step, "model" | "learning" | "hold">,
  last: LearningCycle | null,
): Promise<void> {
  const { clock, learning, jobQueue } = dependencies;
  const now = clock.now();
  if (last !== null && now.getTime() < last.createdAt.getTime() + order.secondsBetween * 1000) return;
  const { gathered, written, learned, signalCount, heldOut } = await planCycle(
    dependencies,
    model,
    order,
    now,
  );
  const isEnough = signalCount >= order.signalsMin;
  await learning.note(hold, { signalCount, heldOutCount: isEnough ? heldOut.length : null });
  if (!isEnough || heldOut.length < order.promptsMin) return;
  const submit: SubmitJob = (job, lines, more) => {
    const { id: jobId, modelId, createdAt } = job;
    const about = { id: newUuid7(clock), modelId, jobId, order, learned, heldOut, createdAt };
    const origin = { hold, cycle: { ...about, ...newCycleProgress } };
    return jobQueue.submit(job, lines, null, { ...more, learning: origin });
  };
  const identity = {
    task: { kind: "preference", config: order.config },
    configNotApplied: [],
    warnings: [],
  } as const;
  try {
    await createPreferenceJob(dependencies, { gathered, written }, identity, submit);
  } catch (error) {
    // A conflict means that another job took some of this feedback, or another server runs the learning by now. The
    // next look uses the remaining feedback.
    if (!(error instanceof ServiceError) || error.code !== "conflict") throw error;
  }
}
