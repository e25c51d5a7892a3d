// Tables of reward rules and of feedback that was trained on; see schema.ts.

export interface RewardTables {
  readonly reward_rules: RewardRuleTable;
  readonly rule_notes: RuleNoteTable;
  readonly rule_prompts: RulePromptTable;
  readonly rule_jobs: RuleJobTable;
  readonly job_sources: JobSourceTable;
}

export interface RewardRuleTable {
  readonly id: string;
  readonly sequence: number;
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  /** The rule as JSON. */
  readonly content: string;
  /** Configuration of automatic training as JSON; null if the rule does not train automatically. */
  readonly standing: string | null;
  /**
   * Model that an automatic rule trains. It becomes null when the model is deleted; the rule is then no longer
   * automatic.
   */
  readonly model_id: string | null;
  readonly is_paused: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** Server that runs the automatic rule. */
  readonly owner: string | null;
  readonly read_to: number | null;
  readonly fault: string | null;
}

export interface RuleNoteTable {
  readonly rule_id: string;
  readonly feedback_id: string;
  readonly prompt_hash: string;
}

export interface RulePromptTable {
  readonly rule_id: string;
  readonly prompt_hash: string;
  /**
   * How far the rule had read the feedback when the prompt became ready for training; null while the prompt is not
   * ready.
   */
  readonly ready_since: number | null;
  /** Id of the last job that trained on the prompt. */
  readonly job_id: string | null;
}

export interface RuleJobTable {
  readonly rule_id: string;
  readonly job_id: string;
  readonly created_at: string;
  readonly token_count: number;
}

export interface JobSourceTable {
  readonly job_id: string;
  /** Position of the feedback in the order of the job's groups. */
  readonly sequence: number;
  readonly model_id: string;
  /** Id of the answer, as returned by `answerId`. */
  readonly answer: string;
  /** 0 if the answer was only compared with others and its tokens were excluded from training. */
  readonly is_trained: number;
  readonly content: string;
}
