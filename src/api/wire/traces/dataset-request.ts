// API format of requests that make training files from traced chats, and of their answers.
import { Type, type Static } from "typebox";
import { newFindings, report } from "../../../base/validation/findings.ts";
import type { DatasetRequest, TracedDataset } from "../../../train/rewards/traces/traced-dataset.ts";
import type { BodyForm } from "../body.ts";
import { anyObject } from "../fields/any-object.ts";
import { nullable, orNull } from "../nullable.ts";
import { isPreference } from "../preferences/preferences.ts";
import { readPreference } from "../preferences/read-preference.ts";
import { ConversationReader } from "../supervised/conversations.ts";
import { utcMicroseconds } from "../weave/microseconds.ts";

const texts = (description: string) =>
  nullable(Type.Array(Type.String({ maxLength: 4096 }), { minItems: 1, maxItems: 1000 }), { description });
const time = (description: string) => nullable(Type.String({ format: "date-time" }), { description });

const schema = Type.Object(
  {
    kind: Type.Enum(["supervised", "distillation", "preference"], {
      description:
        "Training data to make. With `supervised`, whole conversations; a conversation that another one continues is left out. With `distillation`, a row for each chat, in which only the chat's own answer is trained on. With `preference`, pairs of answers to the same prompt with different scores.",
    }),
    ops: texts("Only calls with these names."),
    trace_ids: texts("Only calls of the traces with these ids."),
    started_from: time("Only calls that started at this time or later."),
    started_before: time("Only calls that started before this time."),
    score: nullable(
      Type.Object({
        name: Type.String({ minLength: 1, maxLength: 200, description: "Name of the score." }),
        min: nullable(Type.Number(), { description: "Only chats with at least this score." }),
      }),
      {
        description:
          "Only chats that have this score. A chat's score is the mean of the scores of this name on the call; if there are none, of those on its trace. Required with kind `preference`.",
      },
    ),
    limit: nullable(Type.Integer({ minimum: 1, maximum: 100_000 }), {
      default: 10_000,
      description: "Maximum number of chats to use, the oldest first.",
    }),
    dry_run: nullable(Type.Boolean(), {
      default: false,
      description: "True to make no file, and only report what the file would contain.",
    }),
  },
  { title: "TracedDatasetReq" },
);

export const datasetForm: BodyForm<typeof schema> = {
  schema,
  more: ({ kind, score }, findings) => {
    if (kind !== "preference" || (score ?? null) !== null) return;
    report(findings, "missing", "Preferences need a score by which answers are compared.", "score");
  },
};

export const datasetAnswerSchema = Type.Object(
  {
    file_id: orNull(Type.String(), { description: "Id of the file; null for a dry run." }),
    row_count: Type.Integer({ description: "Number of rows of the file." }),
    call_count: Type.Integer({ description: "Number of calls that were read." }),
    left_out: Type.Record(Type.String(), Type.Integer(), {
      description: "Number of calls and chats that are not in the file, by reason.",
    }),
    has_more: Type.Boolean({
      description:
        "True if a limit ended the selection before all calls were read. Narrow the selection to continue.",
    }),
    rows: Type.Array(anyObject, { description: "First rows of the file." }),
  },
  { title: "TracedDataset" },
);

export function datasetRequest(body: Static<typeof schema>, projectId: string): DatasetRequest {
  const timeOf = (text: string | null | undefined): string | null => (text ? utcMicroseconds(text) : null);
  return {
    kind: body.kind,
    projectId,
    opNames: body.ops ?? null,
    traceIds: body.trace_ids ?? null,
    startedFrom: timeOf(body.started_from),
    startedBefore: timeOf(body.started_before),
    score: body.score ? { name: body.score.name, min: body.score.min ?? null } : null,
    limit: body.limit ?? 10_000,
  };
}

/** Number of rows that an answer shows. */
const shownRows = 3;

export function datasetAnswer(
  { rows, callCount, leftOut, hasMore }: TracedDataset,
  fileId: string | null,
): object {
  return {
    file_id: fileId,
    row_count: rows.length,
    call_count: callCount,
    left_out: Object.fromEntries(leftOut),
    has_more: hasMore,
    rows: rows.slice(0, shownRows).map((row): unknown => JSON.parse(row)),
  };
}

/** Returns the reason why an upload of the row would be refused; null if it would be accepted. */
export function rowFault(row: string): string | null {
  const findings = newFindings("row");
  const value: unknown = JSON.parse(row);
  if (isPreference(value)) readPreference(value, findings, { takesSingles: false });
  else new ConversationReader(findings).read(value);
  return findings.faults[0]?.message ?? null;
}
