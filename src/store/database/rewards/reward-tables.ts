// The tables of reward rules and of what was trained by them; see schema.ts.

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
  /** As JSON; null of one that does not train by itself. */
  readonly standing: string | null;
  /** Of a standing one; null also when the model is gone, and then it is standing no more. */
  readonly model_id: string | null;
  readonly is_paused: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** The server that looks after a standing one. */
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
  /** How far the rule had read when its answers could train; null while they cannot. */
  readonly ready_since: number | null;
  /** That took them last. */
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
  /** In the order of the job's groups. */
  readonly sequence: number;
  readonly model_id: string;
  /** As `answerId` has it. */
  readonly answer: string;
  /** 0 of one that was only compared with. */
  readonly is_trained: number;
  readonly content: string;
}
