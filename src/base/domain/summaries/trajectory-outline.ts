// Summary of a stored trajectory for lists: small, and computed once when the trajectory is stored (`outline-group`).

export interface TrajectoryOutline {
  /** Index of the stored part that contains the trajectory's group. */
  readonly part: number;
  /** Index of its group in the upload. */
  readonly groupIndex: number;
  /** Index of the trajectory in its group. */
  readonly index: number;
  readonly reward: number;
  /** The first few metrics of the trajectory. */
  readonly metrics: Readonly<Record<string, number | boolean>>;
  /** Number of the model's replies, including those in additional histories. */
  readonly replyCount: number;
  /** Number of tokens in the replies that have tokens or log-probabilities. */
  readonly tokenCount: number;
  readonly hasLogprobs: boolean;
  /** Beginning of the first user message; empty if there is none. */
  readonly prompt: string;
  /** Beginning of the last reply. */
  readonly answer: string;
}

/** Source of trajectories: a log under a split, or a training job. */
export type OutlineSource = "log" | "job";

/** Summary as listed. */
export interface ListedOutline extends TrajectoryOutline {
  /** Number of the trajectory among those of its model, from 1, in storage order. */
  readonly number: number;
  readonly source: OutlineSource;
  /** Id of the log or the job. */
  readonly sourceId: string;
  /** Split of the log; `train` for a job. */
  readonly split: string;
  /** Newest version at the time of the log; null for a job. */
  readonly step: number | null;
  readonly recordedAt: Date;
}

/** Filter of a model's trajectories; null fields match all. */
export interface OutlineFilter {
  readonly source: OutlineSource | null;
  readonly split: string | null;
  readonly step: number | null;
  readonly rewardMin: number | null;
  readonly rewardMax: number | null;
  /** Earliest recording time, inclusive. */
  readonly recordedFrom: Date | null;
  /** Latest recording time, exclusive. */
  readonly recordedBefore: Date | null;
}

/** Number of a model's trajectories by source and split, updated with each write. */
export interface OutlineCount {
  readonly source: OutlineSource;
  readonly split: string;
  readonly count: number;
  readonly meanReward: number;
}
