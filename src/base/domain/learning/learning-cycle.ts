// Cycles of a model that learns while it is used. A cycle records the signals of its job, the evaluation of the
// candidate version that the job made, and the decision.
import type { LearningOrder, LearningSignal } from "./learning-order.ts";

/**
 * Stages of a cycle. A cycle trains, then evaluates the candidate, then watches the ratings of a promoted version. The
 * last four stages are final.
 */
export const cycleStages = [
  "training",
  "evaluating",
  "watching",
  "promoted",
  "refused",
  "rolled_back",
  "failed",
] as const;
export type CycleStage = (typeof cycleStages)[number];

/** True if no further stage follows. */
export function isFinalStage(stage: CycleStage): boolean {
  return !["training", "evaluating", "watching"].includes(stage);
}

/** Number of feedback records of one kind and from one person that a cycle's job trained on. */
export interface LearnedFrom {
  readonly kind: LearningSignal;
  /** Owner of the key that wrote the feedback. */
  readonly owner: string;
  /** Person that the feedback names as its author; null if it names none. */
  readonly creator: string | null;
  readonly count: number;
}

/** A recorded answer that serves for evaluation and is never trained on. */
export interface HeldOutAnswer {
  readonly requestId: string;
  readonly choice: number;
  /** True if people wanted this answer, false if not; null if only its prompt is used. */
  readonly isWanted: boolean | null;
}

/** Score of one version on the held-out prompts. */
export interface VersionScore {
  /** Mean reward by the judge, or mean log-probability per token of the wanted answers. */
  readonly score: number;
  /** Mean log-probability per token of the unwanted answers; null with a judge, or without such answers. */
  readonly unwanted: number | null;
}

export interface Evaluation {
  readonly method: "judge" | "logprobs";
  /** Number of held-out prompts that both versions were evaluated on. */
  readonly promptCount: number;
  readonly candidate: VersionScore;
  readonly current: VersionScore;
}

/** Number of rated answers, and the mean of their rewards; null without any. */
export interface RatedAnswers {
  readonly count: number;
  readonly mean: number | null;
}

/** The part of a cycle that changes while it runs. */
export interface CycleProgress {
  readonly stage: CycleStage;
  /** Version from which the candidate was trained, and the candidate; null until the job has made the candidate. */
  readonly baseStep: number | null;
  readonly candidateStep: number | null;
  readonly evaluation: Evaluation | null;
  /** Sentence that explains the decision; null before the decision. */
  readonly reason: string | null;
  /** Sentence that says why the cycle cannot continue yet; null if it can. */
  readonly waitingFor: string | null;
  readonly evaluatingSince: Date | null;
  readonly promotedAt: Date | null;
  /** Ratings of the earlier version's answers at the time of the promotion, and of the promoted version's answers. */
  readonly ratedBefore: RatedAnswers | null;
  readonly ratedAfter: RatedAnswers | null;
  readonly endedAt: Date | null;
}

export interface LearningCycle extends CycleProgress {
  readonly id: string;
  readonly modelId: string;
  readonly jobId: string;
  /** Settings at the beginning of the cycle, which apply until its end. */
  readonly order: LearningOrder;
  readonly learned: readonly LearnedFrom[];
  readonly heldOut: readonly HeldOutAnswer[];
  readonly createdAt: Date;
}

/** Progress of a cycle whose job was just created. */
export const newCycleProgress: CycleProgress = {
  stage: "training",
  baseStep: null,
  candidateStep: null,
  evaluation: null,
  reason: null,
  waitingFor: null,
  evaluatingSince: null,
  promotedAt: null,
  ratedBefore: null,
  ratedAfter: null,
  endedAt: null,
};
