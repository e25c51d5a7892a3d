// Reward rules that are kept in a project, and what one needs that trains by itself.
import type { Page, PageRequest } from "../page.ts";
import { type FieldValues, integer, number, orNull, time } from "../resources/fields.ts";
import type { TrainingConfig } from "../training-config.ts";
import type { JsonObject } from "../text/json.ts";
import type { RewardRule } from "./reward-rule.ts";

export interface StoredRule {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  /** Of one project's rules no two have the same. */
  readonly name: string;
  readonly rule: RewardRule;
  /** Null of one that trains only when somebody asks. */
  readonly standing: AutomaticOrder | null;
  /** Whether a standing one does nothing until it is resumed. */
  readonly isPaused: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Which recorded answers feedback trains. */
export const feedbackSelection = {
  since: orNull(time({ about: "Only feedback from this time on." })),
  versionAgeMax: orNull(
    integer({
      minimum: 0,
      maximum: 1_000_000,
      about: "Maximum age of an answer's version, in versions before the newest; older answers do not train.",
      usually: "any",
    }),
  ),
};

/** More groups in a job would be a mistake. */
export const jobGroupsMax = 10_000;

/** How often a rule trains a model by itself. */
export const standingLimits = {
  groupsMin: integer({
    minimum: 1,
    maximum: jobGroupsMax,
    default: 8,
    about:
      "Minimum number of groups in a job: prompts whose answers have differing rewards, at least one with new feedback.",
  }),
  groupsMax: integer({
    minimum: 1,
    maximum: jobGroupsMax,
    default: 256,
    about: "Maximum number of groups in a job; the rest waits for the next job.",
  }),
  secondsBetween: number({
    minimum: 0,
    maximum: 31_536_000,
    default: 3600,
    about: "Minimum time between two jobs.",
  }),
  jobsPerDay: integer({
    minimum: 1,
    maximum: 10_000,
    default: 24,
    about: "Maximum number of jobs within 24 hours.",
  }),
  // A job that goes beyond it is cut.
  tokensPerDay: orNull(
    integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      about: "Maximum number of prompt and answer tokens that its jobs train on within 24 hours.",
      usually: "any number",
    }),
  ),
};

/** How a rule trains a model by itself. */
export interface AutomaticOrder
  extends FieldValues<typeof feedbackSelection>, FieldValues<typeof standingLimits> {
  readonly modelId: string;
  /** Which feedback, as the request's query has it; null for all of the project. */
  readonly filter: JsonObject | null;
  readonly config: TrainingConfig;
}

/** A job that a standing rule made. */
export interface AutomaticJob {
  readonly id: string;
  readonly createdAt: Date;
  readonly tokenCount: number;
}

/** How far a standing rule has come. */
export interface AutomaticProgress {
  /** The number of the last feedback that it read; null before the first. */
  readonly cursor: number | null;
  /** Prompts whose answers can train. */
  readonly readyCount: number;
  /** Those of the last 24 hours, the newest first. */
  readonly jobs: readonly AutomaticJob[];
  /** The newest of all. */
  readonly lastJob: AutomaticJob | null;
  /** Why it could not go on the last time, for people; null where it could. */
  readonly fault: string | null;
}

/** Feedback that a rule reads, by the prompt of the answer that it is on. */
export interface RuleNote {
  readonly promptHash: string;
  readonly feedbackId: string;
}

/** What a standing rule writes as it reads on. */
export interface AutomaticAdvance {
  /** Where it stood. */
  readonly from: number | null;
  readonly to: number | null;
  readonly notes: readonly RuleNote[];
  /** Prompts that were looked at, and whether their answers can train. */
  readonly prompts: ReadonlyMap<string, boolean>;
}

/** As whom somebody writes for a standing rule: nothing is written for one that is another server's by then, or was changed. */
export interface AutomaticHold {
  readonly ruleId: string;
  /** A server with a lease. */
  readonly owner: string;
  readonly updatedAt: Date;
}

export interface RuleFilter {
  readonly entity: string | null;
  readonly project: string | null;
  /** Of standing ones. */
  readonly modelId: string | null;
}

export interface RuleStore {
  /** @throws ServiceError `conflict` where the project has one of the name, or `countMax`; `not_found` for no such model */
  create(rule: StoredRule, limits: { readonly countMax: number }): Promise<void>;
  find(id: string): Promise<StoredRule | null>;
  /** In the order they came. */
  list(filter: RuleFilter, page: PageRequest): Promise<Page<StoredRule>>;
  /**
   * Has it say something else. A standing one then reads its feedback anew; what was trained stays known.
   *
   * @returns null where there is none
   * @throws ServiceError `conflict`, `not_found` as `create`
   */
  replace(
    id: string,
    rule: Pick<StoredRule, "name" | "rule" | "standing" | "updatedAt">,
  ): Promise<StoredRule | null>;
  /** One that is resumed begins without the fault it had. Null where there is none. */
  setPaused(id: string, isPaused: boolean, at: Date): Promise<StoredRule | null>;
  /** False where there is none. */
  delete(id: string): Promise<boolean>;

  /**
   * Takes standing rules that are not paused and that no server with a lease has, and lists all that are this one's.
   *
   * @param owner without a lease it gets none
   */
  claim(owner: string): Promise<readonly StoredRule[]>;
  /** @param since of the jobs that are counted. Null where there is no such rule */
  progress(id: string, since: Date): Promise<AutomaticProgress | null>;
  /** Writes how far it has read. False, and nothing written, where the hold is lost or `from` is not where it stood. */
  advance(hold: AutomaticHold, advance: AutomaticAdvance): Promise<boolean>;
  /** The ids of the feedback that was noted on answers to these prompts, the newest so many. */
  notesOf(id: string, promptHash: string, limit: number): Promise<readonly string[]>;
  /** The prompts on whose answers any of this feedback was noted, of a page's ids. */
  notedPrompts(id: string, feedbackIds: readonly string[]): Promise<readonly string[]>;
  /** Prompts whose answers can train, those first that could first. */
  readyPrompts(id: string, limit: number): Promise<readonly string[]>;
  /** Has prompts train again whose jobs failed or were cancelled: nothing was learned of them. */
  releaseFailed(hold: AutomaticHold): Promise<void>;
  /** Says why it could not go on, and pauses it where somebody has to look. */
  setFault(hold: AutomaticHold, fault: string, options?: { readonly pauses?: boolean }): Promise<void>;
}
