// Reward rules stored in a project, and the settings of a rule that trains automatically.
import type { Page, PageRequest } from "../page.ts";
import { type FieldValues, integer, number, orNull, time } from "../resources/fields.ts";
import type { TrainingConfig } from "../training-config.ts";
import type { JsonObject } from "../text/json.ts";
import type { RewardRule } from "./reward-rule.ts";

export interface StoredRule {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  /** Name of the rule, unique in the project. */
  readonly name: string;
  readonly rule: RewardRule;
  /** Settings for automatic training; null if the rule trains only on request. */
  readonly standing: AutomaticOrder | null;
  /** True if the automatic rule is paused. It stays paused until it is resumed. */
  readonly isPaused: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Selection of recorded answers to train on. */
export const feedbackSelection = {
  since: orNull(time({ about: "Uses only feedback from this time on." })),
  versionAgeMax: orNull(
    integer({
      minimum: 0,
      maximum: 1_000_000,
      about:
        "Maximum age of an answer, counted in versions: how many versions before the newest one gave it. Older answers are excluded from training.",
      usually: "no limit",
    }),
  ),
};

/** Maximum number of groups in a job; a higher number in a request is taken for a mistake. */
export const jobGroupsMax = 10_000;

/** Limits on how often a rule trains a model automatically. */
export const automaticLimits = {
  groupsMin: integer({
    minimum: 1,
    maximum: jobGroupsMax,
    default: 8,
    about:
      "Minimum number of groups that must be ready before a job is created. A group is a prompt whose answers have differing rewards, at least one of them with new feedback.",
  }),
  groupsMax: integer({
    minimum: 1,
    maximum: jobGroupsMax,
    default: 256,
    about: "Maximum number of groups in a job; the rest is left for the next job.",
  }),
  secondsBetween: number({
    minimum: 0,
    maximum: 31_536_000,
    default: 3600,
    about: "Minimum time in seconds between the creation of two jobs.",
  }),
  jobsPerDay: integer({
    minimum: 1,
    maximum: 10_000,
    default: 24,
    about: "Maximum number of jobs within 24 hours.",
  }),
  // Maximum number of tokens per day. A job that would exceed it gets only some of the groups.
  tokensPerDay: orNull(
    integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      about: "Maximum number of prompt and answer tokens that its jobs train on within 24 hours.",
      usually: "any number",
    }),
  ),
};

/** Settings for automatic training: which model a rule trains, how, and how often. */
export interface AutomaticOrder
  extends FieldValues<typeof feedbackSelection>, FieldValues<typeof automaticLimits> {
  readonly modelId: string;
  /** Filter of the feedback, in the form of the `query` of requests; null for all feedback of the project. */
  readonly filter: JsonObject | null;
  readonly config: TrainingConfig;
}

/** Job created by an automatic rule. */
export interface AutomaticJob {
  readonly id: string;
  readonly createdAt: Date;
  readonly tokenCount: number;
}

/** Progress of an automatic rule. */
export interface AutomaticProgress {
  /** Number of the last feedback record that the rule has read; null before it has read any. */
  readonly cursor: number | null;
  /** Number of prompts whose answers are ready for training. */
  readonly readyCount: number;
  /** Jobs that the rule created in the last 24 hours, newest first. */
  readonly jobs: readonly AutomaticJob[];
  /** The newest job that the rule created at any time. */
  readonly lastJob: AutomaticJob | null;
  /** Human-readable reason why the last attempt to create a job failed; null if it succeeded. */
  readonly fault: string | null;
}

/** Feedback that a rule reads, with the hash of the prompt of its answer. */
export interface RuleNote {
  readonly promptHash: string;
  readonly feedbackId: string;
}

/** Progress to store after an automatic rule has read more feedback. */
export interface AutomaticAdvance {
  /** Cursor that the rule had before it read this feedback. */
  readonly from: number | null;
  readonly to: number | null;
  readonly notes: readonly RuleNote[];
  /** Prompts whose answers were checked, by hash; true if the answers are ready for training. */
  readonly prompts: ReadonlyMap<string, boolean>;
}

/**
 * Proof that a server owns an automatic rule. A write with it fails if another server owns the rule by then, or if the
 * rule was changed.
 */
export interface AutomaticHold {
  readonly ruleId: string;
  /** Server with a lease, which owns the rule. */
  readonly owner: string;
  readonly updatedAt: Date;
}

export interface RuleFilter {
  readonly entity: string | null;
  readonly project: string | null;
  /** Model that the rules train automatically. */
  readonly modelId: string | null;
}

export interface RuleStore {
  /**
   * @throws ServiceError `conflict` if the project already has a rule of this name, or `countMax` rules; `not_found`
   * if the model does not exist
   */
  create(rule: StoredRule, limits: { readonly countMax: number }): Promise<void>;
  find(id: string): Promise<StoredRule | null>;
  /** Returns rules in the order of creation. */
  list(filter: RuleFilter, page: PageRequest): Promise<Page<StoredRule>>;
  /**
   * Replaces a rule's content. An automatic rule then reads its feedback again, but does not train again on what it
   * has trained on.
   *
   * @returns null if there is no such rule
   * @throws ServiceError `conflict`, `not_found` as `create` does
   */
  replace(
    id: string,
    rule: Pick<StoredRule, "name" | "rule" | "standing" | "updatedAt">,
  ): Promise<StoredRule | null>;
  /** Pauses or resumes a rule. Resuming also deletes the recorded fault. Returns null if there is no such rule. */
  setPaused(id: string, isPaused: boolean, at: Date): Promise<StoredRule | null>;
  /** Returns false if there is no such rule. */
  delete(id: string): Promise<boolean>;

  /**
   * Claims automatic rules that are not paused and that no server with a lease owns. Returns all rules that this
   * server then owns.
   *
   * @param owner server that claims rules; gets no rules without a lease
   */
  claim(owner: string): Promise<readonly StoredRule[]>;
  /**
   * Returns the progress of a rule; null if there is no such rule. @param since start of the period in which jobs are
   * counted
   */
  progress(id: string, since: Date): Promise<AutomaticProgress | null>;
  /** Stores progress. Returns false and stores nothing if the hold is lost or `from` is not the current cursor. */
  advance(hold: AutomaticHold, advance: AutomaticAdvance): Promise<boolean>;
  /** Returns ids of feedback on answers to a prompt, newest first. */
  notesOf(id: string, promptHash: string, limit: number): Promise<readonly string[]>;
  /** Returns the hashes of the prompts whose answers this feedback is about. */
  notedPrompts(id: string, feedbackIds: readonly string[]): Promise<readonly string[]>;
  /** Returns the hashes of prompts whose answers are ready for training, in the order in which they became ready. */
  readyPrompts(id: string, limit: number): Promise<readonly string[]>;
  /** Makes the prompts of failed and cancelled jobs ready for training again, because these jobs published no version. */
  releaseFailed(hold: AutomaticHold): Promise<void>;
  /** Records why the rule failed; `pauses` also pauses the rule, for a failure that only a person can resolve. */
  setFault(hold: AutomaticHold, fault: string, options?: { readonly pauses?: boolean }): Promise<void>;
}
