// What a job trains, with what it trains on as it is read.
import type { PreferenceConfig } from "../../../base/domain/preferences/preference-config.ts";
import type { PreferenceExample } from "../../../base/domain/preferences/preference.ts";
import type { SupervisedConfig } from "../../../base/domain/supervised/supervised-config.ts";
import type { ExampleConversation } from "../../../base/domain/supervised/conversation.ts";
import type { TrainingConfig } from "../../../base/domain/training-config.ts";
import type { TrajectoryGroup } from "../../../base/domain/trajectory.ts";

/** A job's task with its lines in their order. */
export type JobWork = ReinforcementWork | SupervisedWork | PreferenceWork;

export interface ReinforcementWork {
  readonly kind: "rl";
  readonly config: TrainingConfig;
  readonly groups: WorkLines<TrajectoryGroup>;
}

export interface SupervisedWork {
  readonly kind: "sft";
  readonly config: SupervisedConfig;
  readonly conversations: WorkLines<ExampleConversation>;
}

export interface PreferenceWork {
  readonly kind: "preference";
  readonly config: PreferenceConfig;
  readonly preferences: WorkLines<PreferenceExample>;
}

export interface WorkLines<Item> {
  readonly count: number;
  /** Those from this index on, one in memory at a time. */
  from(index: number): AsyncIterable<Item>;
}
