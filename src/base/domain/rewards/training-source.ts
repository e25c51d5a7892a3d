// Origin of a training job from feedback: answers, their rewards, and the records behind them.
import type { Page, PageRequest } from "../page.ts";
import type { AutomaticHold } from "./stored-rule.ts";

/** A recorded answer. */
export interface AnswerKey {
  readonly requestId: string;
  /** Index of the completion's choice. */
  readonly choice: number;
}

export interface TrainingSource extends AnswerKey {
  /** Version that answered. */
  readonly step: number;
  /** Null if people corrected the answer without rating it. */
  readonly reward: number | null;
  /** Number of people whose feedback counts. */
  readonly peopleCount: number;
  /** Records that count, all in the project of the job's model. */
  readonly feedback: readonly SourceFeedback[];
  /**
   * `trained`, or `compared`: without new feedback since it was trained, but needed to compare the rest of its group
   * or pair.
   */
  readonly use: "trained" | "compared";
}

/** A record in the revision that counted. */
export interface SourceFeedback {
  readonly id: string;
  readonly contentHash: string;
  /** True if no earlier job of the model trained on this revision. */
  readonly isNew: boolean;
}

export function answerId({ requestId, choice }: AnswerKey): string {
  return `${choice}:${requestId}`;
}

/** Returns the mark of a record's revision, by which earlier training on it is recognised. */
export function feedbackMark({ id, contentHash }: Pick<SourceFeedback, "id" | "contentHash">): string {
  return `${contentHash}:${id}`;
}

/** Data written with a job from feedback, in the transaction that creates the job. */
export interface FeedbackOrigin {
  readonly sources: readonly TrainingSource[];
  /** Set if an automatic rule created the job. */
  readonly standing: {
    readonly hold: AutomaticHold;
    /** Tokens of its prompts and answers. */
    readonly tokenCount: number;
    /** Prompts of its groups. They need new feedback before they can train again. */
    readonly promptHashes: readonly string[];
  } | null;
}

export interface ListedSource extends TrainingSource {
  /** Unique among the sources of its job. */
  readonly id: string;
}

export interface TrainingSourceStore {
  /**
   * Returns which records the jobs of a model have trained on: marks of records by {@link answerId}. Failed and
   * cancelled jobs are ignored.
   */
  trainedOn(
    modelId: string,
    answers: readonly AnswerKey[],
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Returns the sources of a job in the order of its groups; none if it does not come from feedback. */
  list(jobId: string, page: PageRequest): Promise<Page<ListedSource>>;
}
