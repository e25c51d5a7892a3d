// Dependencies of the steps of learning, and the model on which a step works.
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { AskModel } from "../../base/domain/fine-tuning/ask-model.ts";
import type { JobStore } from "../../base/domain/job.ts";
import type { LearningCycle } from "../../base/domain/learning/learning-cycle.ts";
import type { Learning, LearningHold, LearningStore } from "../../base/domain/learning/learning-store.ts";
import type { MeasureTokens } from "../../base/domain/learning/measure-tokens.ts";
import type { ModelStore, TrainedModel } from "../../base/domain/model.ts";
import type { JobQueue } from "../jobs/job-queue.ts";
import type { MessageDependencies } from "./next-messages.ts";
import type { PlanDependencies } from "./plan-cycle.ts";

export interface StepDependencies
  extends PlanDependencies, Omit<MessageDependencies, "learning" | "completions"> {
  readonly learning: LearningStore;
  readonly jobs: Pick<JobStore, "find">;
  readonly models: Pick<ModelStore, "find" | "newestVersion">;
  readonly jobQueue: Pick<JobQueue, "submit">;
  /**
   * Returns a function that asks this server's models on behalf of the caller. The function first lets other
   * requests finish, up to a maximum wait.
   */
  readonly askAs: (caller: Caller) => AskModel;
  readonly measureAs: (caller: Caller) => MeasureTokens;
  readonly clock: Clock;
  /** Called with each cycle whose stage has changed. */
  readonly onChange: (cycle: LearningCycle, learning: Learning) => void;
}

export interface Step {
  readonly model: TrainedModel;
  readonly learning: Learning;
  readonly hold: LearningHold;
  readonly signal: AbortSignal;
}

/**
 * Returns the caller on whose behalf the server asks models: a member of the model's entity, with the key of the
 * request.
 */
export function callerOf({ model, learning }: Pick<Step, "model" | "learning">): Caller {
  const { keyId, keyOwner: owner } = learning;
  return { keyId, entity: model.entity, role: "member", owner, scopes: null, project: null };
}
