// What a list says of stored trajectories without reading them: small, and made once, as they are stored (`outline-group`).

export interface TrajectoryOutline {
  /** How many parts of stored lines come before its group's. */
  readonly part: number;
  /** Of its group among those it was sent with. */
  readonly groupIndex: number;
  /** In its group. */
  readonly index: number;
  readonly reward: number;
  /** The first few. */
  readonly metrics: Readonly<Record<string, number | boolean>>;
  /** Replies of the model, those of additional histories included. */
  readonly replyCount: number;
  /** Of the replies that carry tokens or their log-probabilities. */
  readonly tokenCount: number;
  readonly hasLogprobs: boolean;
  /** How the first message of a user begins; empty where there is none. */
  readonly prompt: string;
  /** How the last reply begins. */
  readonly answer: string;
}

/** What trajectories were stored with: logged under a split, or sent to a training job. */
export type OutlineSource = "log" | "job";

/** An outline as it is listed. */
export interface ListedOutline extends TrajectoryOutline {
  /** Its number among the trajectories of its model, from 1 on, in the order they were stored. */
  readonly number: number;
  readonly source: OutlineSource;
  /** Of the log, or of the job. */
  readonly sourceId: string;
  /** Those of jobs count as `train`. */
  readonly split: string;
  /** The newest version when it was logged; null for a job's. */
  readonly step: number | null;
  readonly recordedAt: Date;
}

/** Which trajectories of a model; what is null lets all through. */
export interface OutlineFilter {
  readonly source: OutlineSource | null;
  readonly split: string | null;
  readonly step: number | null;
  readonly rewardMin: number | null;
  readonly rewardMax: number | null;
  /** Recorded then or later. */
  readonly recordedFrom: Date | null;
  /** Recorded before. */
  readonly recordedBefore: Date | null;
}

/** How many trajectories a model has of a source under a split, kept as they are stored. */
export interface OutlineCount {
  readonly source: OutlineSource;
  readonly split: string;
  readonly count: number;
  readonly meanReward: number;
}
