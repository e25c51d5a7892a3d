// Loads the answers that a job trained on, with the beginnings of their prompts and texts, and people's judgements.
import type { FeedbackRecord, TrainingSource } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { HoneError } from "../../client/hone-error.ts";
import { callOf } from "../feedback-list/feedback-query.ts";
import { formatRecord } from "../feedback/records.ts";
import { may } from "../session.ts";

/** Maximum number of answers that are shown. Each needs a request for its recording. */
export const sourcesMax = 30;
/** Maximum number of feedback records that are read. */
const recordsMax = 100;
/** Maximum length in characters of the beginning of an answer. */
const beginningMax = 200;

export interface ShownSource {
  readonly source: TrainingSource;
  /** Beginning of the last user message; null if the recording is gone. */
  readonly prompt: string | null;
  /** Beginning of the answer; empty if the recording is gone. */
  readonly answer: string;
  /** Feedback records as text, such as `👍`. */
  readonly judgements: readonly string[];
}

/** Returns the first answers that the job of a version trained on, and whether there are more. */
export async function loadSources(
  hone: Hone,
  modelId: string,
  step: number,
  signal: AbortSignal,
): Promise<{ readonly sources: readonly ShownSource[]; readonly hasMore: boolean }> {
  const page = await hone.checkpoints.sources(modelId, step, { limit: sourcesMax }, { signal }).first();
  const records = await recordsOf(hone, page.data, signal);
  const sources = page.data.map(async (source) => ({
    source,
    ...(await beginningsOf(hone, source, signal)),
    judgements: source.feedback.flatMap(({ id }) => {
      const record = records.get(id);
      return record === undefined ? [] : [formatRecord(record)];
    }),
  }));
  return { sources: await Promise.all(sources), hasMore: page.has_more };
}

/** Returns the feedback records of the sources by their ids; none if the key may not read feedback. */
async function recordsOf(
  hone: Hone,
  sources: readonly TrainingSource[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, FeedbackRecord>> {
  const ids = sources.flatMap(({ feedback }) => feedback.map(({ id }) => id)).slice(0, recordsMax);
  const project = callOf(sources[0]?.call ?? "")?.project;
  if (project === undefined || !may("readFeedback")) return new Map();
  const query = { $expr: { $in: [{ $getField: "id" }, ids.map((id) => ({ $literal: id }))] } };
  const body = { project_id: project, query, limit: recordsMax };
  const { data } = await hone.feedback.query(body, { signal }).first();
  // Safe cast: a query that selects no fields returns whole records.
  return new Map((data as readonly FeedbackRecord[]).map((record) => [record.id, record]));
}

async function beginningsOf(
  hone: Hone,
  { call: reference }: TrainingSource,
  signal: AbortSignal,
): Promise<Pick<ShownSource, "prompt" | "answer">> {
  const call = callOf(reference);
  if (call === null) return { prompt: null, answer: "" };
  try {
    const chat = await hone.recordings.get(call.id, { project: call.project }, { signal });
    const choice = Number(/\/attr\/choices\/index\/(\d+)/.exec(reference)?.[1] ?? 0);
    const text = choice === 0 ? chat.answer : chat.choices[choice]?.message.content?.slice(0, beginningMax);
    return { prompt: chat.prompt, answer: text ?? "" };
  } catch (error) {
    if (error instanceof HoneError && error.status === 404) return { prompt: null, answer: "" };
    throw error;
  }
}
