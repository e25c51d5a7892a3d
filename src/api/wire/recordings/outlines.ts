// Lists of recorded completions as the API spells them: which are asked for, and how each is listed.
import { Type, type Static } from "typebox";
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import type {
  CompletionFilter,
  CompletionPage,
  ListedCompletion,
} from "../../../base/domain/recordings/completion-store.ts";
import { type Fault, quoted, ServiceError } from "../../../base/domain/service-error.ts";
import { usageSchema } from "../chat/chat-answer-schema.ts";
import { usageBody } from "../chat/chat-response.ts";
import { pageQueryFields, pageSchema } from "../page.ts";

const projectField = Type.String({ description: "`<entity>/<project>`." });

export const recordedQuerySchema = Type.Object({
  ...pageQueryFields,
  project: Type.Optional(projectField),
  model: Type.Optional(
    Type.String({
      description:
        "Only of this trained model, by its id or a name as in a chat request; with `:step3` only of that version.",
    }),
  ),
  step: Type.Optional(Type.Integer({ minimum: 0, description: "Only of this version." })),
  since: Type.Optional(Type.String({ format: "date-time", description: "Only what ended then or later." })),
  until: Type.Optional(Type.String({ format: "date-time", description: "Only what ended before." })),
  request_id: Type.Optional(Type.String({ description: "Only the answer of this request." })),
  feedback: Type.Optional(
    Type.String({
      description:
        "`any`: only what there is feedback on; `none`: only what there is none on; else a type of feedback, of which there is some.",
      examples: ["any"],
    }),
  ),
});

/** Of a path that names a request: the project, where several have one of its id. */
export const callQuerySchema = Type.Object({ project: Type.Optional(projectField) });

type RecordedQuery = Static<typeof recordedQuerySchema>;

/** What of a query says which completions, but for whose: models and entities are not known here. */
export function recordedFilter(
  query: RecordedQuery,
): Omit<CompletionFilter, "entity" | "projectId" | "modelId"> {
  const faults: Fault[] = [];
  const { step = null, request_id: requestId = null, feedback } = query;
  const filter = {
    step,
    requestId,
    endedFrom: timeIn(query, "since", faults),
    endedBefore: timeIn(query, "until", faults),
    feedback: feedback === undefined ? null : feedbackIn(feedback),
  };
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
  return filter;
}

function feedbackIn(text: string): CompletionFilter["feedback"] {
  return text === "any" || text === "none" ? { kind: text } : { kind: "type", type: text };
}

function timeIn(query: RecordedQuery, name: "since" | "until", faults: Fault[]): Date | null {
  const text = query[name];
  if (text === undefined) return null;
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  const message = `${name} is no time; write it as 2026-11-22T12:00:00Z`;
  faults.push({ location: ["query", name], message, type: "value_error" });
  return null;
}

export const outlineSchema = {
  id: Type.String({ description: "Of the answer: `chatcmpl-` and the request's id." }),
  request_id: Type.String(),
  reference: Type.String({ description: "As what feedback names it." }),
  project_id: projectField,
  model_id: Type.String({ format: "uuid" }),
  step: Type.Integer({ minimum: 0, description: "The version that answered." }),
  model: Type.String({ description: "The name that was asked for." }),
  system_fingerprint: Type.String({ description: "Names base, version and engine build." }),
  owner: Type.String({ description: "Of the key that asked." }),
  started_at: Type.String({ format: "date-time" }),
  ended_at: Type.String({ format: "date-time" }),
  usage: usageSchema,
  prompt_hash: Type.String({ description: "Equal for prompts of the same tokens." }),
  finish_reasons: Type.Array(Type.String(), { description: "Of each choice." }),
  has_logprobs: Type.Boolean(),
  is_whole: Type.Boolean({
    description: "False of one that was too large: neither messages nor tokens are recorded of it.",
  }),
  byte_count: Type.Integer({
    minimum: 0,
    description: "Of what is stored of it alone, without what it shares with others.",
  }),
  prompt: Type.String({ description: "How the last message of a user begins, or the prompt's text." }),
  answer: Type.String({ description: "How the first choice begins." }),
  metadata: Type.Object({}, { additionalProperties: Type.String(), description: "Of the request." }),
};

export const outlinePageSchema = pageSchema(Type.Object(outlineSchema, { title: "RecordedOutline" }));

/** A page as it is answered; one that looked at many and found few says where to go on. */
export function outlinePageBody({ items, last, hasMore }: CompletionPage): object {
  return {
    object: "list",
    data: items.map(outlineBody),
    first_id: items.length === 0 ? "" : String(items[0].number),
    last_id: last === 0 ? "" : String(last),
    has_more: hasMore,
  };
}

export function outlineBody(listed: ListedCompletion): object {
  return {
    id: `chatcmpl-${listed.requestId}`,
    request_id: listed.requestId,
    reference: callReference(listed),
    project_id: listed.projectId,
    model_id: listed.modelId,
    step: listed.step,
    model: listed.model,
    system_fingerprint: listed.fingerprint,
    owner: listed.owner,
    started_at: listed.startedAt.toISOString(),
    ended_at: listed.endedAt.toISOString(),
    usage: usageBody(listed.usage),
    prompt_hash: listed.promptHash,
    finish_reasons: listed.finishReasons,
    has_logprobs: listed.hasLogprobs,
    is_whole: listed.isWhole,
    byte_count: listed.byteCount,
    prompt: listed.promptText,
    answer: listed.answerText,
    metadata: listed.metadata,
  };
}

/** The number that a cursor is; null where it is none. */
export function numberIn(after: string): number | null {
  return /^[1-9]\d{0,14}$/.test(after) ? Number(after) : null;
}

/** The refusal of a cursor that names nothing in its list. */
export function noPlace(after: string): ServiceError {
  const message = `after is ${quoted(after)}, which is no place in this list. Use last_id of the page before`;
  const faults = [{ location: ["query", "after"], message, type: "value_error" }];
  return new ServiceError({ code: "invalid", message: `${message}.`, faults });
}
