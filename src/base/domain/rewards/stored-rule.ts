// Reward rules that a project stores, and the settings of rules that train automatically.
import type { Page, PageRequest } from "../page.ts";
import { type FieldValues, integer, number, orNull, time } from "../resources/fields.ts";
import type { TrainingConfig } from "../training-config.ts";
import type { JsonObject } from "../text/json.ts";
import { versionAgeLimit } from "../version-age.ts";
import type { RewardRule } from "./reward-rule.ts";

export interface StoredRule {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  /** Name of the rule, which no other rule of the project has. */
  readonly name: string;
  readonly rule: RewardRule;
  /** Settings of automatic training; null if the rule trains only on request. */
  readonly standing: AutomaticOrder | null;
  /** True if the rule's automatic training is paused. It remains paused until someone resumes it. */
  readonly isPaused: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Fields that select the recorded answers to train on. */
export const feedbackSelection = {
  since: orNull(time({ about: "Uses only feedback that was given at this time or later." })),
  versionAgeMax: orNull(
    integer({
      minimum: 0,
      maximum: versionAgeLimit,
      about:
        "Maximum age of an answer: the number of versions by which the version that gave the answer may be older than the newest version. Older answers are excluded from training. For a rollout, the `version` of the rollout counts.",
      usually: "no limit",
    }),
  ),
};

/** Maximum number of groups in a job. A higher number in a request is probably a mistake. */
export const jobGroupsMax = 10_000;

/** Limits that say how often a rule trains its model automatically. */
export const automaticLimits = {
  groupsMin: integer({
    minimum: 1,
    maximum: jobGroupsMax,
    default: 8,
    about:
      "Minimum number of groups that must be ready before a job is created. A group is a prompt whose answers have different rewards, where at least one answer has new feedback. For a rule on rollouts, it is a group of rollouts, none of which is open.",
  }),
  groupsMax: integer({
    minimum: 1,
    maximum: jobGroupsMax,
    default: 256,
    about: "Maximum number of groups in a job. If there are more, the next job can train on the others.",
  }),
  secondsBetween: number({
    minimum: 0,
    maximum: 31_536_000,
    default: 3600,
    about:
      "Minimum time in seconds between the creation of two jobs. For a rule on rollouts, the default is 0.",
  }),
  jobsPerDay: integer({
    minimum: 1,
    maximum: 10_000,
    default: 24,
    about: "Maximum number of jobs within 24 hours. For a rule on rollouts, the default is 10,000.",
  }),
  // Maximum number of tokens to train on per day. A job that would exceed it gets only some of the groups.
  tokensPerDay: orNull(
    integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      about: "Maximum number of prompt and answer tokens on which the rule's jobs train within 24 hours.",
      usually: "any number",
    }),
  ),
};

/** Selection of the rollouts that a rule trains on instead of feedback. */
export interface RolloutQueue {
  /** Split of the rollouts; null for all splits. */
  readonly split: string | null;
  /** Minimum number of finished rollouts in a group; at least 2. */
  readonly groupSizeMin: number;
}

/** Settings of automatic training: the model that the rule trains, the method, and how often. */
export interface AutomaticOrder
  extends FieldValues<typeof feedbackSelection>, FieldValues<typeof automaticLimits> {
  readonly modelId: string;
  /** Rollouts that the rule trains on; null if it trains on feedback. */
  readonly rollouts: RolloutQueue | null;
  /** Filter on the feedback, in the form of the field `query` in requests; null for all feedback of the project. */
  readonly filter: JsonObject | null;
  readonly config: TrainingConfig;
}

/** A job that an automatic rule has created. */
export interface AutomaticJob {
  readonly id: string;
  readonly createdAt: Date;
  readonly tokenCount: number;
}

/** Progress of a rule that trains automatically. */
export interface AutomaticProgress {
  /** Number of the last feedback record that the rule has read; null before it has read any. */
  readonly cursor: number | null;
  /**
   * Number of prompts with answers that are ready to be trained on; for a rule that trains on rollouts, number of ready
   * groups.
   */
  readonly readyCount: number;
  /** Number of groups of rollouts that are not whole yet; 0 for a rule that trains on feedback. */
  readonly unreadyCount: number;
  /** Jobs that the rule created in the last 24 hours, newest first. */
  readonly jobs: readonly AutomaticJob[];
  /** Newest job that the rule has ever created. */
  readonly lastJob: AutomaticJob | null;
  /** Sentence that says why the last attempt to create a job failed; null if it succeeded. */
  readonly fault: string | null;
}

/** A feedback record that a rule has read. `promptHash` is the hash of the prompt whose answer the feedback judges. */
export interface RuleNote {
  readonly promptHash: string;
  readonly feedbackId: string;
}

/** Progress to store after a rule has read more feedback. */
export interface AutomaticAdvance {
  /** Cursor of the rule before it read this feedback. */
  readonly from: number | null;
  readonly to: number | null;
  readonly notes: readonly RuleNote[];
  /** Prompts whose answers were checked, by hash. The value is true if the answers are ready to be trained on. */
  readonly prompts: ReadonlyMap<string, boolean>;
}

/**
 * Proof that a server owns an automatic rule. A write with this proof fails if another server owns the rule by now, or
 * if the rule was changed.
 */
export interface AutomaticHold {
  readonly ruleId: string;
  /** The server that owns the rule. It must have a lease. */
  readonly owner: string;
  readonly updatedAt: Date;
}

export interface RuleFilter {
  readonly entity: string | null;
  readonly project: string | null;
  /** Model that the selected rules train automatically; null to select all rules. */
  readonly modelId: string | null;
}

export interface RuleStore {
  /**
   * Stores a new rule.
   *
   * @throws ServiceError `conflict` if the project already has a rule of this name, or `countMax` rules, or another
   * rule trains the same model on its rollouts; `not_found` if the model does not exist
   */
  create(rule: StoredRule, limits: { readonly countMax: number }): Promise<void>;
  find(id: string): Promise<StoredRule | null>;
  /** Returns rules in the order in which they were created. */
  list(filter: RuleFilter, page: PageRequest): Promise<Page<StoredRule>>;
  /**
   * Replaces the content of a rule. An automatic rule then reads its feedback again, but does not train again on
   * feedback on which it has already trained.
   *
   * @returns null if there is no such rule
   * @throws ServiceError `conflict`, `not_found` as `create` does
   */
  replace(
    id: string,
    rule: Pick<StoredRule, "name" | "rule" | "standing" | "updatedAt">,
  ): Promise<StoredRule | null>;
  /**
   * Pauses or resumes a rule. Resuming a rule also deletes its recorded fault. Returns null if there is no such rule.
   */
  setPaused(id: string, isPaused: boolean, at: Date): Promise<StoredRule | null>;
  /** Deletes a rule. Returns false if there is no such rule. */
  delete(id: string): Promise<boolean>;

  /**
   * Claims automatic rules that are not paused and that no server with a lease owns. Returns all rules that this server
   * now owns.
   *
   * @param owner server that claims rules; it gets none if it has no lease
   */
  claim(owner: string): Promise<readonly StoredRule[]>;
  /**
   * Returns the progress of a rule; null if there is no such rule.
   *
   * @param since beginning of the period in which jobs are counted
   */
  progress(id: string, since: Date): Promise<AutomaticProgress | null>;
  /**
   * Stores the progress of a rule. If the server no longer owns the rule, or `from` is not the current cursor, stores
   * nothing and returns false.
   */
  advance(hold: AutomaticHold, advance: AutomaticAdvance): Promise<boolean>;
  /** Returns the ids of the feedback that the rule has read on answers to a prompt, newest first. */
  notesOf(id: string, promptHash: string, limit: number): Promise<readonly string[]>;
  /** Returns the hashes of the prompts to whose answers this feedback belongs. */
  notedPrompts(id: string, feedbackIds: readonly string[]): Promise<readonly string[]>;
  /**
   * Returns the hashes of prompts whose answers are ready to be trained on, in the order in which they became ready.
   */
  readyPrompts(id: string, limit: number): Promise<readonly string[]>;
  /**
   * Makes prompts of failed and cancelled jobs ready to be trained on again, because these jobs published no version.
   */
  releaseFailed(hold: AutomaticHold): Promise<void>;
  /**
   * Records the reason for a failure of the rule. With `pauses`, also pauses the rule, because only a person can
   * resolve the failure.
   */
  setFault(hold: AutomaticHold, fault: string, options?: { readonly pauses?: boolean }): Promise<void>;
}
