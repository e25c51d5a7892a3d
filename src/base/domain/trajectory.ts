// Trajectories: the actions of a policy with their rewards, as clients record them and send them for training. Unknown
// keys are kept, because clients add their own.
import type { QueryTurn } from "./feedback-query/feedback-query.ts";
import type { Page, PageRequest, NumberedPage, NumberedPageRequest } from "./page.ts";
import type { Json, JsonObject } from "./text/json.ts";
import type {
  ListedOutline,
  OutlineCount,
  OutlineFilter,
  TrajectoryOutline,
} from "./summaries/trajectory-outline.ts";

/** One message of a conversation, with the API's field names. Unknown keys are kept. */
export type MessageRecord = { readonly role: string } & JsonObject;

/**
 * A Choice recorded from an answer of the chat endpoint, with the API's field names (`finish_reason`, `message`,
 * `logprobs`, `token_ids`, `prompt_token_ids`, ...).
 */
export type ChoiceRecord = { readonly finish_reason: Json; readonly message: JsonObject } & JsonObject;

export type HistoryItem = MessageRecord | ChoiceRecord;

/**
 * True for a Choice of the chat endpoint, which has `message` and `finish_reason`. A message has its role at the top
 * level instead.
 */
function isChoiceRecord(item: HistoryItem): item is ChoiceRecord {
  return typeof item["message"] === "object" && item["message"] !== null && "finish_reason" in item;
}

/** Fields of a Choice that say which tokens it has. */
const tokenFields = ["token_ids", "prompt_token_ids", "logprobs"] as const;

/**
 * Returns the item as a Choice; null for a message without tokens. An assistant message with tokens also counts as a
 * Choice, because some client libraries put the tokens on the message.
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

/** Returns the message without its tokens, so that training uses the message only as context. */
export function withoutTokens(message: MessageRecord): MessageRecord {
  const rest = Object.entries(message).filter(([name]) => !(tokenFields as readonly string[]).includes(name));
  return { ...Object.fromEntries(rest), role: message.role };
}

function carriesTokens(record: JsonObject): boolean {
  return tokenFields.some((name) => isGiven(record[name]));
}

/** True unless the value is null, an empty list, or log-probabilities without entries. */
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
  /** Metrics of the trajectory. In means, true counts as 1 and false as 0. */
  readonly metrics: Readonly<Record<string, number | boolean>>;
  readonly metadata: JsonObject;
  readonly logs: readonly Json[];
  /** Time at which the trajectory began, in ISO 8601; null if the client sent none. */
  readonly startTime: string | null;
  /** Keys that the client sent but that are not fields of this interface. */
  readonly extra: JsonObject;
}

export interface TrajectoryGroup {
  readonly trajectories: readonly Trajectory[];
  /** Exceptions of failed rollouts. They count only in the exception rate. */
  readonly exceptions: readonly JsonObject[];
  readonly metadata: JsonObject;
  readonly metrics: Readonly<Record<string, number | boolean>>;
  readonly logs: readonly Json[];
  readonly extra: JsonObject;
}

/**
 * Trajectories that a client has logged under a split, at a step of a model. The log has only data about the
 * trajectories, which are read separately.
 */
export interface TrajectoryLog {
  readonly id: string;
  readonly modelId: string;
  readonly split: string;
  readonly step: number;
  readonly recordedAt: Date;
  readonly metrics: Metrics;
  readonly groupCount: number;
  /** Size in bytes of the stored trajectory groups. */
  readonly contentBytes: number;
}

/**
 * A log that is not stored yet. Its metrics depend on earlier logs, so the store computes them when it stores the log.
 */
export interface TrajectoryLogDraft extends Pick<
  TrajectoryLog,
  "id" | "modelId" | "split" | "step" | "recordedAt"
> {
  /**
   * Trajectory groups, one line of JSON per group, as folded lines (see text/folded-lines). They may be iterated over
   * more than once.
   */
  readonly lines: Iterable<string>;
  /** Summaries of the trajectories in the groups, in order. The store iterates over them once. */
  readonly outlines: Iterable<TrajectoryOutline>;
  readonly groupCount: number;
  /** Ids of all scenarios that occur in the groups. */
  readonly scenarioIds: readonly string[];
}

/** State of a model's logs before a new log is added. */
export interface EarlierLogs {
  /** Metrics of the newest log under any split, with its running sums; empty before the first log. */
  readonly metrics: Metrics;
  /** Number of different scenarios in all logs of the model, including the new log. */
  readonly scenarioCount: number;
}

/** Result of combining all logs of one split at one version. */
export interface CombinedLogs {
  /** Tally (running sums) that is stored with the newest log. The next log is added to it. */
  readonly tally: JsonObject;
  /** Metrics to store with the version. They override metrics of the same name that the newest log has. */
  readonly metrics: Metrics;
}

export type Metrics = Readonly<Record<string, number>>;

/** Filter of a model's logs. Fields that are absent or null match all logs. */
export interface TrajectoryLogFilter {
  readonly split: string | null;
  readonly step?: number | null;
  /** Includes logs stored at this time or later. */
  readonly recordedFrom?: Date | null;
  /** Includes logs stored before this time. */
  readonly recordedBefore?: Date | null;
}

export interface TrajectoryStore {
  /**
   * Stores a log and merges its metrics into those of the version `log.step`, in one transaction. Logs of one model are
   * appended one after the other, even across processes, so that no running sum is lost.
   *
   * @param measure returns the log's metrics; pure, because the store may call it again
   * @param combine adds the log to the tally of earlier logs of its split and step; the tally is null if there are
   * none. Pure. If `combine` is absent, the version gets the log's own metrics
   * @returns the log's metrics
   * @throws ServiceError `not_found` if there is no such model
   */
  append(
    log: TrajectoryLogDraft,
    measure: (earlier: EarlierLogs) => Metrics,
    combine?: (earlier: JsonObject | null) => CombinedLogs,
  ): Promise<Metrics>;
  find(logId: string): Promise<TrajectoryLog | null>;
  /**
   * Returns the logs of a model in order of creation. Their trajectories are not included and do not count towards a
   * page's size.
   */
  list(modelId: string, filter: TrajectoryLogFilter, page: PageRequest): Promise<Page<TrajectoryLog>>;
  /**
   * Returns the groups of a log as folded lines, one line of JSON per group, with one part in memory at a time; null if
   * there is no such log. Reading throws `not_found` if the log is deleted meanwhile.
   *
   * @param from number of stored parts to skip; 0 by default
   */
  lines(logId: string, from?: number): Promise<AsyncIterable<string> | null>;
  /**
   * Returns summaries of a model's trajectories, ordered by their number. Trajectories in the model's jobs are
   * included.
   */
  listOutlines(
    modelId: string,
    filter: OutlineFilter,
    page: NumberedPageRequest,
  ): Promise<NumberedPage<ListedOutline>>;
  /** Returns the summary of the trajectory with this number; null if the model has none. */
  findOutline(modelId: string, number: number): Promise<ListedOutline | null>;
  /**
   * Returns the numbers of those summaries whose trajectories may contain the words. None that contains all of them is
   * missing, but others may be included, so callers read the trajectories.
   *
   * @param outlines up to 250 summaries from `listOutlines`
   * @param words words in lower case, at least one
   * @throws ServiceError `too_slow`, `overloaded`
   */
  findWords(
    outlines: readonly ListedOutline[],
    words: readonly string[],
    turn: QueryTurn,
  ): Promise<ReadonlySet<number>>;
  /**
   * Returns the number of trajectories by source and split, the most frequent first; at most a hundred rows.
   *
   * @param step counts only trajectories that were logged at this version; null to count trajectories of all versions
   */
  countOutlines(modelId: string, step: number | null): Promise<readonly OutlineCount[]>;
}
