// What a training job was made of where it came from feedback: answers, what they were judged to be worth, and by which records.
import type { Page, PageRequest } from "../page.ts";
import type { AutomaticHold } from "./stored-rule.ts";

/** A recorded answer. */
export interface AnswerKey {
  readonly requestId: string;
  /** Of the completion's choices. */
  readonly choice: number;
}

export interface TrainingSource extends AnswerKey {
  /** The version that answered. */
  readonly step: number;
  /** Null of an answer that people did not rate, but corrected. */
  readonly reward: number | null;
  /** Whose feedback it trains by. */
  readonly peopleCount: number;
  /** The records that it trains by, all in the project of the job's model. */
  readonly feedback: readonly SourceFeedback[];
  /**
   * `trained`, or `compared`: nothing new was said of it since it was trained, and the others of its group, or its pair, are
   * compared with it.
   */
  readonly use: "trained" | "compared";
}

/** A record as it was when it counted. */
export interface SourceFeedback {
  readonly id: string;
  readonly contentHash: string;
  /** No job of the model had trained on it, as it is, before. */
  readonly isNew: boolean;
}

export function answerId({ requestId, choice }: AnswerKey): string {
  return `${choice}:${requestId}`;
}

/** By what it is known that a record, as it is, was trained on. */
export function feedbackMark({ id, contentHash }: Pick<SourceFeedback, "id" | "contentHash">): string {
  return `${contentHash}:${id}`;
}

/** What is written with a job that comes from feedback, in the transaction that creates it. */
export interface FeedbackOrigin {
  readonly sources: readonly TrainingSource[];
  /** Where a standing rule made it. */
  readonly standing: {
    readonly hold: AutomaticHold;
    /** Of its prompts and answers. */
    readonly tokenCount: number;
    /** Of its groups, which need new feedback before they can train again. */
    readonly promptHashes: readonly string[];
  } | null;
}

export interface ListedSource extends TrainingSource {
  /** Unique among those of its job. */
  readonly id: string;
}

export interface TrainingSourceStore {
  /**
   * What of these answers jobs of a model trained on: the marks of records, by {@link answerId}. Jobs that failed or were
   * cancelled count for nothing.
   */
  trainedOn(
    modelId: string,
    answers: readonly AnswerKey[],
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Of a job, in the order of its groups; none of one that does not come from feedback. */
  list(jobId: string, page: PageRequest): Promise<Page<ListedSource>>;
}
