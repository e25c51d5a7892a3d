// Turns the learning of models on and off, and reports its state. Knows nothing about HTTP; the caller has checked the
// access to the model.
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { isFinalStage, type LearningCycle } from "../../base/domain/learning/learning-cycle.ts";
import type { LearningOrder } from "../../base/domain/learning/learning-order.ts";
import type { Learning, LearningNotes, LearningStore } from "../../base/domain/learning/learning-store.ts";
import type { TrainedModel } from "../../base/domain/model.ts";
import type { Page, PageRequest } from "../../base/domain/page.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { ModelDirectory } from "../../inference/models/registry/model-directory.ts";
import type { JobQueue } from "../jobs/job-queue.ts";

export interface LearningDependencies {
  readonly learning: LearningStore;
  readonly directory: Pick<ModelDirectory, "find">;
  readonly jobQueue: Pick<JobQueue, "cancel">;
  readonly clock: Clock;
  /** True if the operator has disabled recordings. Models then have nothing to learn from. */
  readonly isRecordingOff: boolean;
}

export const learningStatuses = ["collecting", "waiting", "training", "evaluating", "watching"] as const;
export type LearningStatus = (typeof learningStatuses)[number];

/** A learning model with the state of its learning. */
export interface LearningState extends Learning, LearningNotes {
  readonly status: LearningStatus;
  /** Sentence that explains the status. */
  readonly explanation: string;
  /** Newest cycle; null if there is none. */
  readonly cycle: LearningCycle | null;
}

export class LearningService {
  readonly #dependencies: LearningDependencies;

  constructor(dependencies: LearningDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Turns learning on, or changes its settings.
   *
   * @throws ServiceError `conflict` if recordings are disabled; if the judging model cannot be used, that model's
   * error, with the field `judge.model`
   */
  async turnOn(model: TrainedModel, order: LearningOrder, caller: Caller): Promise<LearningState> {
    const { learning, clock, isRecordingOff } = this.#dependencies;
    if (isRecordingOff) throw recordingOff();
    await this.#requireJudge(model, order, caller);
    const now = clock.now();
    const { keyId, owner: keyOwner } = caller;
    await learning.put({ modelId: model.id, order, keyId, keyOwner, createdAt: now, updatedAt: now });
    return this.find(model);
  }

  /**
   * Returns the state of a model's learning.
   *
   * @throws ServiceError `not_found` if learning is off
   */
  async find({ id }: TrainedModel): Promise<LearningState> {
    const { learning, clock } = this.#dependencies;
    const [found, cycle] = await Promise.all([learning.find(id), learning.newestCycle(id)]);
    if (found === null) throw learningOff();
    return { ...found, ...stateOf(found, cycle, clock.now()), cycle };
  }

  /**
   * Turns learning off. A training job of the cycle in progress is cancelled, a candidate is refused, and a promoted
   * version stays.
   *
   * @throws ServiceError `not_found` if learning is off
   */
  async turnOff({ id }: TrainedModel): Promise<void> {
    const { learning, jobQueue, clock } = this.#dependencies;
    const ended = await learning.remove(id, clock.now());
    if (ended === undefined) throw learningOff();
    if (ended !== null && ended.candidateStep === null) await jobQueue.cancel(ended.jobId);
  }

  cycles({ id }: TrainedModel, page: PageRequest): Promise<Page<LearningCycle>> {
    return this.#dependencies.learning.listCycles(id, page);
  }

  /** Checks that a member of the model's entity may ask the judge. The server asks the judge as such a member. */
  async #requireJudge({ entity }: TrainedModel, { judge }: LearningOrder, caller: Caller): Promise<void> {
    if (judge === null) return;
    const member: Caller = { ...caller, entity, role: "member", project: null };
    try {
      await this.#dependencies.directory.find(judge.model, member);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { code, message } = error;
      throw new ServiceError({
        code,
        message,
        faults: [{ location: ["judge", "model"], message, type: code }],
      });
    }
  }
}

function stateOf(
  { order, signalCount, heldOutCount }: Learning & LearningNotes,
  cycle: LearningCycle | null,
  now: Date,
): Pick<LearningState, "status" | "explanation"> {
  if (cycle?.stage === "training")
    return { status: "training", explanation: "A job trains a candidate version." };
  if (cycle?.stage === "evaluating") {
    const explanation = cycle.waitingFor ?? "The candidate version is evaluated on held-out prompts.";
    return { status: "evaluating", explanation };
  }
  if (cycle?.stage === "watching")
    return { status: "watching", explanation: "Ratings of the promoted version can still cause a rollback." };
  const nextAt = cycle === null || !isFinalStage(cycle.stage) ? now : nextStart(cycle, order);
  if (nextAt > now)
    return { status: "waiting", explanation: `The next cycle begins at ${nextAt.toISOString()} or later.` };
  const isEnough = (signalCount ?? 0) >= order.signalsMin;
  const explanation = isEnough
    ? `${heldOutCount ?? 0} of ${order.promptsMin} held-out prompts are there.`
    : `${signalCount ?? 0} of ${order.signalsMin} new signals are there.`;
  return { status: "collecting", explanation };
}

function nextStart({ createdAt }: LearningCycle, { secondsBetween }: LearningOrder): Date {
  return new Date(createdAt.getTime() + secondsBetween * 1000);
}

function learningOff(): ServiceError {
  const message =
    "Learning is off for this model. Turn it on with `hone learning on`, or by PUT of its settings.";
  return new ServiceError({ code: "not_found", message });
}

function recordingOff(): ServiceError {
  const message =
    "Recordings are disabled on this server (`recordings.record`), so there are no answers to learn from.";
  return new ServiceError({ code: "conflict", message });
}
