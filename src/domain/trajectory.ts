// What a policy did and how it was judged, as recorded by clients and sent back for training.
// Unknown keys are kept, since clients add their own.
import type { Page, PageRequest } from "./page.ts";

/** A JSON value as parsed. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** One message of a conversation, in the API's own spelling; unknown keys pass through. */
export type MessageRecord = { readonly role: string } & JsonObject;

/** A reply recorded from the chat endpoint, in the API's own spelling (`finish_reason`, `message`, `logprobs`, `token_ids`, `prompt_token_ids`, ...). */
export type ChoiceRecord = { readonly finish_reason: Json; readonly message: JsonObject } & JsonObject;

export type HistoryItem = MessageRecord | ChoiceRecord;

/** A Choice carries `message` and `finish_reason`; a message has its role at the top. */
export function isChoiceRecord(item: HistoryItem): item is ChoiceRecord {
  return "message" in item && "finish_reason" in item;
}

export interface History {
  readonly messagesAndChoices: readonly HistoryItem[];
  readonly tools: readonly JsonObject[] | null;
}

export interface Trajectory extends History {
  readonly additionalHistories: readonly History[];
  readonly reward: number;
  readonly initialPolicyVersion: number | null;
  readonly finalPolicyVersion: number | null;
  /** Numbers, booleans as 0 or 1 when averaged. */
  readonly metrics: Readonly<Record<string, number | boolean>>;
  readonly metadata: JsonObject;
  readonly logs: readonly Json[];
  /** ISO 8601; null when the client sent none. */
  readonly startTime: string | null;
  /** Every key that the interface does not name, as sent. */
  readonly extra: JsonObject;
}

export interface TrajectoryGroup {
  readonly trajectories: readonly Trajectory[];
  /** Rollouts that raised; they count in the exception rate only. */
  readonly exceptions: readonly JsonObject[];
  readonly metadata: JsonObject;
  readonly metrics: Readonly<Record<string, number | boolean>>;
  readonly logs: readonly Json[];
  readonly extra: JsonObject;
}

/** Trajectories as logged under a split at a step of a model. */
export interface TrajectoryLog {
  readonly id: string;
  readonly modelId: string;
  readonly split: string;
  readonly step: number;
  readonly recordedAt: Date;
  readonly groups: readonly TrajectoryGroup[];
  readonly metrics: Readonly<Record<string, number>>;
}

/** One row of a model's metric history. */
export interface MetricRow {
  readonly id: string;
  readonly modelId: string;
  readonly split: string;
  readonly step: number;
  readonly recordedAt: Date;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface TrajectoryStore {
  /**
   * Stores a log and lays its metrics over those of the version `log.step`, in one transaction.
   */
  append(log: TrajectoryLog): Promise<void>;
  list(
    modelId: string,
    filter: { readonly split: string | null },
    page: PageRequest,
  ): Promise<Page<TrajectoryLog>>;
  listMetrics(
    modelId: string,
    filter: { readonly split: string | null },
    page: PageRequest,
  ): Promise<Page<MetricRow>>;
  /** The newest row of metrics of the model in any split, or null: where running sums go on from. */
  newestMetrics(modelId: string): Promise<MetricRow | null>;
}
