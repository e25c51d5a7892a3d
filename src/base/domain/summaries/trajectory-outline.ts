// Summary of a stored trajectory for lists. It is small, and `outline-group` computes it once, when the trajectory is
// stored.

export interface TrajectoryOutline {
  /** Number of stored parts before the one in which the trajectory's group begins. A log or job is stored in parts. */
  readonly part: number;
  /** Index of the group in the log or the job. */
  readonly groupIndex: number;
  /** Index of the trajectory in its group. */
  readonly index: number;
  readonly reward: number;
  /** The first few metrics of the trajectory. */
  readonly metrics: Readonly<Record<string, number | boolean>>;
  /** Number of the model's replies in the trajectory, including those in its additional histories. */
  readonly replyCount: number;
  /** Number of tokens in these replies. A reply without token ids and log-probabilities counts as 0. */
  readonly tokenCount: number;
  /**
   * Number of tokens in the prompts of these replies; absent if the tokens of a prompt or of a reply are unknown, and in
   * summaries that older servers stored.
   */
  readonly promptTokenCount?: number;
  readonly hasLogprobs: boolean;
  /** Beginning of the first user message; empty if there is none. */
  readonly prompt: string;
  /** Beginning of the model's last reply. */
  readonly answer: string;
}

/** Kind of a trajectory's source: a log under a split, or a training job. */
export type OutlineSource = "log" | "job";

/** Summary of a trajectory, for lists. */
export interface ListedOutline extends TrajectoryOutline {
  /** Number of the trajectory within its model: trajectories are counted from 1, in storage order. */
  readonly number: number;
  readonly source: OutlineSource;
  /** Id of the log or job to which the trajectory belongs. */
  readonly sourceId: string;
  /** Split of the log, such as `val`; `train` for a job. */
  readonly split: string;
  /**
   * For a trajectory from a log: step of the version to which the log belongs. Null for a trajectory from a training
   * job.
   */
  readonly step: number | null;
  readonly recordedAt: Date;
}

/** Comparison of a metric with a number. */
export type MetricComparison = "<" | "<=" | "=" | ">=" | ">";

/** Condition on a metric of a trajectory. A boolean counts as 1 or 0; a trajectory without the metric does not match. */
export interface MetricCondition {
  readonly name: string;
  readonly comparison: MetricComparison;
  readonly value: number;
}

/** Filter of a model's trajectories. Fields that are null match all trajectories. */
export interface OutlineFilter {
  readonly source: OutlineSource | null;
  readonly split: string | null;
  readonly step: number | null;
  readonly rewardMin: number | null;
  readonly rewardMax: number | null;
  /** Conditions on metrics; a trajectory must match all of them. */
  readonly metrics: readonly MetricCondition[];
  /** Includes trajectories stored at this time or later. */
  readonly recordedFrom: Date | null;
  /** Includes trajectories stored before this time. */
  readonly recordedBefore: Date | null;
}

/** Number of a model's trajectories from one source and split. It is updated with each write. */
export interface OutlineCount {
  readonly source: OutlineSource;
  readonly split: string;
  readonly count: number;
  readonly meanReward: number;
}
