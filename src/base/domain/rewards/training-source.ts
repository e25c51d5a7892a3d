// Data about the feedback from which a training job was created: the answers, their rewards, and the feedback records
// that determined the rewards.
import type { Page, PageRequest } from "../page.ts";
import type { AutomaticHold } from "./stored-rule.ts";

/** Identifies a recorded answer. */
export interface AnswerKey {
  readonly requestId: string;
  /** Index of the answer among the choices of its completion. */
  readonly choice: number;
}

export interface TrainingSource extends AnswerKey {
  /** Step of the version that gave the answer. */
  readonly step: number;
  /** Reward of the answer; null if people corrected the answer without rating it. */
  readonly reward: number | null;
  /** Number of people whose feedback determined the reward. */
  readonly peopleCount: number;
  /** Feedback records that determined the reward or the correction. All belong to the project of the job's model. */
  readonly feedback: readonly SourceFeedback[];
  /**
   * `trained` if the job trains on the answer. `compared` if an earlier job trained on the answer, and no new feedback
   * on it has arrived since. The new job then uses the answer only for comparison with others of its group or pair.
   */
  readonly use: "trained" | "compared";
}

/** A feedback record, in the revision that determined the reward. */
export interface SourceFeedback {
  readonly id: string;
  readonly contentHash: string;
  /** True if no earlier job of the model has trained on this revision. */
  readonly isNew: boolean;
}

export function answerId({ requestId, choice }: AnswerKey): string {
  return `${choice}:${requestId}`;
}

/**
 * Returns a key for the revision of a feedback record. With this key, a later job recognizes that an earlier job has
 * trained on the revision.
 */
export function feedbackMark({ id, contentHash }: Pick<SourceFeedback, "id" | "contentHash">): string {
  return `${contentHash}:${id}`;
}

/** Automatic rule that created a job. */
export interface CreatingRule {
  /** The server's proof that it owns the rule. */
  readonly hold: AutomaticHold;
  /** Number of tokens in the job's prompts and answers. */
  readonly tokenCount: number;
  /**
   * Hashes of the prompts in the job's groups. The rule trains on these prompts again only after new feedback. Empty
   * for a rule that trains on rollouts.
   */
  readonly promptHashes: readonly string[];
}

/** Data that is stored with a job created from feedback, in the transaction that creates the job. */
export interface FeedbackOrigin {
  readonly sources: readonly TrainingSource[];
  /** Automatic rule that created the job; null if no rule did. */
  readonly standing: CreatingRule | null;
}

export interface ListedSource extends TrainingSource {
  /** Id of the source, which no other source of the job has. */
  readonly id: string;
}

export interface TrainingSourceStore {
  /**
   * Returns, for each answer, the marks of the feedback revisions on which jobs of the model have trained. The key is
   * the {@link answerId}. Failed and cancelled jobs do not count.
   */
  trainedOn(
    modelId: string,
    answers: readonly AnswerKey[],
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /**
   * Returns the sources of a job, in the order of the job's groups. The page is empty if the job was not created from
   * feedback.
   */
  list(jobId: string, page: PageRequest): Promise<Page<ListedSource>>;
}
