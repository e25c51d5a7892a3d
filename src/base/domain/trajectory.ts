// What a policy did and how it was judged, as recorded by clients and sent back for training.
// Unknown keys are kept, since clients add their own.
import type { Page, PageRequest, NumberedPage, NumberedPageRequest } from "./page.ts";
import type { Json, JsonObject } from "./text/json.ts";
import type {
  ListedOutline,
  OutlineCount,
  OutlineFilter,
  TrajectoryOutline,
} from "./summaries/trajectory-outline.ts";

/** One message of a conversation, in the API's own spelling; unknown keys pass through. */
export type MessageRecord = { readonly role: string } & JsonObject;

/**
 * A reply recorded from the chat endpoint, in the API's own spelling (`finish_reason`, `message`, `logprobs`,
 * `token_ids`, `prompt_token_ids`, ...).
 */
export type ChoiceRecord = { readonly finish_reason: Json; readonly message: JsonObject } & JsonObject;

export type HistoryItem = MessageRecord | ChoiceRecord;

/** True for an item as a chat answered it, with `message` and `finish_reason`; a message has its role at the top. */
function isChoiceRecord(item: HistoryItem): item is ChoiceRecord {
  return typeof item["message"] === "object" && item["message"] !== null && "finish_reason" in item;
}

/** Fields of a Choice that say which tokens it is. */
const tokenFields = ["token_ids", "prompt_token_ids", "logprobs"] as const;

/**
 * Returns the item as a Choice; null for a message. An assistant message that carries its tokens is a Choice too: client
 * libraries write them on the message, or move them from the Choice to its message.
 */
export function asChoice(item: HistoryItem): ChoiceRecord | null {
  if (!isChoiceRecord(item)) {
    if (item["role"] !== "assistant" || !carriesTokens(item)) return null;
    const { finish_reason: finishReason = null, ...rest } = item;
    return { ...rest, finish_reason: finishReason, message: item };
  }
  const { message } = item;
  if (carriesTokens(item) || !carriesTokens(message)) return item;
  const lifted = tokenFields.filter((name) => isGiven(message[name])).map((name) => [name, message[name]]);
  return { ...item, ...(Object.fromEntries(lifted) as JsonObject) };
}

/** Returns the message without its tokens, as mere context. */
export function withoutTokens(message: MessageRecord): MessageRecord {
  const rest = Object.entries(message).filter(([name]) => !(tokenFields as readonly string[]).includes(name));
  return { ...Object.fromEntries(rest), role: message.role };
}

function carriesTokens(record: JsonObject): boolean {
  return tokenFields.some((name) => isGiven(record[name]));
}

/** False for what says nothing: null, an empty list, log-probabilities without entries. */
function isGiven(value: Json | undefined): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.length > 0;
  return Object.values(value).some(isGiven);
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

/** Trajectories logged under a split at a step of a model: all but the trajectories, which are read on demand. */
export interface TrajectoryLog {
  readonly id: string;
  readonly modelId: string;
  readonly split: string;
  readonly step: number;
  readonly recordedAt: Date;
  readonly metrics: Metrics;
  readonly groupCount: number;
  /** Of the groups, as stored. */
  readonly contentBytes: number;
}

/** A log to be stored, whose metrics depend on what was logged before it. */
export interface TrajectoryLogDraft extends Pick<
  TrajectoryLog,
  "id" | "modelId" | "split" | "step" | "recordedAt"
> {
  /** The groups, a folded line of JSON each; read once or more often. */
  readonly lines: Iterable<string>;
  /** Of the trajectories in the groups, in order; read once. */
  readonly outlines: Iterable<TrajectoryOutline>;
  readonly groupCount: number;
  /** Every scenario that the groups name. */
  readonly scenarioIds: readonly string[];
}

/** What a model's logs came to before one more. */
export interface EarlierLogs {
  /** Of the newest log in any split, with its running sums; empty when the log is the first. */
  readonly metrics: Metrics;
  /** How many different scenarios the model has seen, those of the new log included. */
  readonly scenarioCount: number;
}

/** Logs of one split at one version, added up. */
export interface CombinedLogs {
  /** Kept with the newest of them, to add the next one to. */
  readonly tally: JsonObject;
  /** Laid over the version's metrics, after those of the newest log. */
  readonly metrics: Metrics;
}

export type Metrics = Readonly<Record<string, number>>;

/** Which logs of a model; what is left out, or null, lets all through. */
export interface TrajectoryLogFilter {
  readonly split: string | null;
  readonly step?: number | null;
  /** Recorded then or later. */
  readonly recordedFrom?: Date | null;
  /** Recorded before. */
  readonly recordedBefore?: Date | null;
}

export interface TrajectoryStore {
  /**
   * Stores a log and lays its metrics over those of the version `log.step`, in one transaction. Logs of one model go one
   * after another, whichever process they come from, so that no running sum is lost.
   *
   * @param measure gives the log's metrics; pure, since the store may call it more than once
   * @param combine adds the log to the tally of earlier logs under its split and step, null where there are none; pure. The
   *   version gets the log's own metrics without it
   * @returns the log's metrics
   * @throws ServiceError `not_found` when there is no such model
   */
  append(
    log: TrajectoryLogDraft,
    measure: (earlier: EarlierLogs) => Metrics,
    combine?: (earlier: JsonObject | null) => CombinedLogs,
  ): Promise<Metrics>;
  find(logId: string): Promise<TrajectoryLog | null>;
  /** In the order they came. The bytes of a page are those of the headers. */
  list(modelId: string, filter: TrajectoryLogFilter, page: PageRequest): Promise<Page<TrajectoryLog>>;
  /**
   * What was logged: each group as the folded line of JSON it is stored as, one part in memory at a time; null when there
   * is no such log. Reading throws `not_found` when the log goes meanwhile, rather than end early.
   *
   * @param from how many parts of the stored lines are left out; 0 unless given
   */
  lines(logId: string, from?: number): Promise<AsyncIterable<string> | null>;
  /** Of the model's trajectories, those of its jobs included, by their numbers. */
  listOutlines(
    modelId: string,
    filter: OutlineFilter,
    page: NumberedPageRequest,
  ): Promise<NumberedPage<ListedOutline>>;
  /** The one of this number; null where the model has none. */
  findOutline(modelId: string, number: number): Promise<ListedOutline | null>;
  /**
   * How many trajectories there are, the most first; at most a hundred kinds.
   *
   * @param step of the version they were logged at; null for all
   */
  countOutlines(modelId: string, step: number | null): Promise<readonly OutlineCount[]>;
}
