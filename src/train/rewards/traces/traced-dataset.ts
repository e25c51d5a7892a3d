// Selects traced chats of a project by name, time, trace and score, and turns them into the rows of a training file.
// Reads calls page by page, up to a maximum number of calls and bytes.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { Condition } from "../../../base/domain/feedback-query/condition.ts";
import { constant, isOneOf } from "../../../base/domain/feedback-query/make-condition.ts";
import { loopTurns } from "../../../base/domain/sharing/loop-turns.ts";
import type { CallFilter, CallSlice, TracedCall } from "../../../base/domain/traces/traced-call.ts";
import { rowCollector, type DatasetKind, type ScoredChat } from "./dataset-rows.ts";
import { chatOf } from "./traced-chat.ts";
import { scoreOf, traceReference } from "./traced-scores.ts";

export interface DatasetRequest {
  readonly kind: DatasetKind;
  readonly projectId: string;
  readonly opNames: readonly string[] | null;
  readonly traceIds: readonly string[] | null;
  /** Earliest start time of a call, in UTC with microseconds; null for no limit. */
  readonly startedFrom: string | null;
  /** Only calls that started before this time are read; null for no limit. */
  readonly startedBefore: string | null;
  readonly score: { readonly name: string; readonly min: number | null } | null;
  /** Maximum number of chats to use. */
  readonly limit: number;
}

export interface TracedDataset {
  /** Rows of the file, each as JSON text. */
  readonly rows: readonly string[];
  /** Number of calls that were read. */
  readonly callCount: number;
  /** Number of calls and chats that were left out, by reason. */
  readonly leftOut: ReadonlyMap<string, number>;
  /** True if a limit ended the selection before all calls were read. */
  readonly hasMore: boolean;
}

export interface DatasetSource {
  readonly list: (filter: CallFilter, slice: CallSlice) => Promise<readonly TracedCall[]>;
  /** Returns the feedback that matches a condition. */
  readonly feedback: (condition: Condition) => Promise<readonly FeedbackRecord[]>;
  /** Returns the reason why a row cannot be trained on; null if it can. */
  readonly faultOf: (row: string) => string | null;
  /** Entity for which the dataset is made. */
  readonly tenant: string;
}

const noSearch = { startedFrom: null, startedBefore: null, status: null, words: [] };

/** Maximum number and bytes of calls that are read at a time, so that parsing them does not delay other requests. */
const pageCalls = 100;
const pageBytes = 512 * 1024;
/** Maximum number of calls, and of bytes of chats, that one request reads. */
const callsMax = 100_000;
const bytesMax = 64 * 1024 * 1024;

export async function tracedDataset(source: DatasetSource, request: DatasetRequest): Promise<TracedDataset> {
  const leftOut = new Map<string, number>();
  const leaveOut = (reason: string): void => void leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1);
  const collector = rowCollector(request.kind, leaveOut);
  let [callCount, chatCount, byteCount, hasMore] = [0, 0, 0, false];
  for await (const call of selectedCalls(source, request)) {
    if (chatCount >= request.limit || callCount >= callsMax || byteCount >= bytesMax) {
      hasMore = true;
      break;
    }
    callCount += 1;
    const chat = "reason" in call ? call.reason : call;
    if (typeof chat === "string") leaveOut(chat);
    else {
      collector.add(chat);
      chatCount += 1;
      byteCount += chat.call.inputs.length + (chat.call.end?.output.length ?? 0);
    }
  }
  const rows: string[] = [];
  for (const make of collector.rows()) {
    await loopTurns.next(source.tenant);
    const row = make();
    const fault = source.faultOf(row);
    if (fault === null) rows.push(row);
    else leaveOut(fault);
  }
  return { rows, callCount, leftOut, hasMore };
}

/** Yields each call of the selection as a chat with its score, or the reason why it is left out. */
async function* selectedCalls(
  source: DatasetSource,
  { projectId, opNames, traceIds, startedFrom, startedBefore, score }: DatasetRequest,
): AsyncGenerator<ScoredChat | { readonly reason: string }, void> {
  const filter = { opNames, traceIds, ids: null, parentIds: null, rootsOnly: false, ...noSearch };
  let after: CallSlice["after"] = startedFrom === null ? null : { startedAt: startedFrom, id: "" };
  for (;;) {
    const slice = { limit: pageCalls, offset: 0, bytesMax: pageBytes, isDescending: false, after };
    const calls = await source.list(filter, slice);
    if (calls.length === 0) return;
    after = calls[calls.length - 1];
    const judged = score === null ? new Map() : await feedbackOn(source, projectId, calls);
    for (const call of calls) {
      if (startedBefore !== null && call.startedAt >= startedBefore) return;
      yield judgedChat(call, score, judged);
    }
    await loopTurns.next(source.tenant);
  }
}

function judgedChat(
  call: TracedCall,
  score: DatasetRequest["score"],
  judged: ReadonlyMap<string, readonly FeedbackRecord[]>,
): ScoredChat | { readonly reason: string } {
  const chat = chatOf(call);
  if (typeof chat === "string") return { reason: chat };
  if (score === null) return { ...chat, score: null };
  const value = scoreOf(call, score.name, judged);
  if (value === null) return { reason: `the chat has no score ${JSON.stringify(score.name)}` };
  if (score.min !== null && value < score.min) return { reason: "the score is below the minimum" };
  return { ...chat, score: value };
}

async function feedbackOn(
  { feedback }: DatasetSource,
  projectId: string,
  calls: readonly TracedCall[],
): Promise<ReadonlyMap<string, readonly FeedbackRecord[]>> {
  const targets = new Set(calls.flatMap(({ id, traceId }) => [id, traceId]));
  const references = [...targets].map((target) => constant(traceReference(projectId, target)));
  const field = { kind: "field", field: { kind: "text", name: "vendorRef" } } as const;
  const found = new Map<string, FeedbackRecord[]>();
  for (const record of await feedback(isOneOf(field, references))) {
    const records = found.get(record.vendorRef) ?? [];
    records.push(record);
    found.set(record.vendorRef, records);
  }
  return found;
}
