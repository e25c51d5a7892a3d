// Types of the tables with reward rules and with the feedback that jobs trained on; see schema.ts.

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
  /** The reward rule as JSON. */
  readonly content: string;
  /** Configuration of automatic training as JSON; null if the rule does not train automatically. */
  readonly standing: string | null;
  /**
   * Id of the model that an automatic rule trains. When the model is deleted, it becomes null, and the rule is no
   * longer automatic.
   */
  readonly model_id: string | null;
  readonly is_paused: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** Id of the server that runs the automatic rule; null if there is none. */
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
   * Position up to which the rule had read the feedback when the prompt became ready for training; null while the
   * prompt is not ready.
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
  /** Position of the answer among all answers of the job, in the order of the job's groups. */
  readonly sequence: number;
  readonly model_id: string;
  /** Id of the judged answer, as `answerId` returns it. */
  readonly answer: string;
  /** 0 if the job only compared the answer with others, without training on its tokens; otherwise 1. */
  readonly is_trained: number;
  readonly content: string;
}
