// Lists of recorded completions: stored chat completions as in OpenAI's API, with the additional data that this server
// records.
import { Type, type Static } from "typebox";
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import type {
  CompletionFilter,
  ListedCompletion,
  StoredCompletion,
} from "../../../base/domain/recordings/completion-store.ts";
import type { Page } from "../../../base/domain/page.ts";
import type { RecordedChoice } from "../../../base/domain/recordings/recorded-completion.ts";
import { cut, type Fault, quoted, ServiceError } from "../../../base/domain/service-error.ts";
import { choiceSchema, usageSchema } from "../chat/chat-answer-schema.ts";
import { finishBody, messageBody, usageBody } from "../chat/chat-response.ts";
import { answerOf } from "../fields/resource.ts";
import { pageQueryFields, pageSchema } from "../page.ts";
import { readTime } from "../trajectories/row-query.ts";

const projectField = Type.String({ description: "`<entity>/<project>`." });

export const storedQuerySchema = Type.Object({
  ...pageQueryFields,
  project: Type.Optional(projectField),
  model: Type.Optional(
    Type.String({
      description:
        "Only completions of this trained model: its id or a name as in a chat request; with `:step3` only that version.",
    }),
  ),
  step: Type.Optional(Type.Integer({ minimum: 0, description: "Only completions of this version." })),
  since: Type.Optional(
    Type.String({ format: "date-time", description: "Only completions that ended at this time or later." }),
  ),
  until: Type.Optional(
    Type.String({ format: "date-time", description: "Only completions that ended before this time." }),
  ),
  request_id: Type.Optional(Type.String({ description: "Only the answer to this request." })),
  feedback: Type.Optional(
    Type.String({
      description:
        "`any`: only completions with feedback; `none`: only those without; otherwise a feedback type that they must have.",
      examples: ["any"],
    }),
  ),
  metadata: Type.Optional(
    Type.Object(
      {},
      {
        additionalProperties: Type.String(),
        style: "deepObject",
        description: "Metadata filters `metadata[name]=text`; a completion must match all of them.",
      },
    ),
  ),
});

/**
 * Query of a path that names a request by its answer's id. The project is needed if several projects have an answer
 * with this id.
 */
export const callQuerySchema = Type.Object({ project: Type.Optional(projectField) });

export const messageQuerySchema = Type.Object({ ...pageQueryFields, project: Type.Optional(projectField) });

/**
 * Collects the query parameters `metadata[name]=text` in a field `metadata`.
 *
 * @throws ServiceError `invalid` for a metadata parameter of any other form
 */
export function withMetadata(query: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const metadata: [name: string, text: string][] = [];
  const others: [name: string, value: unknown][] = [];
  for (const [field, value] of Object.entries(query)) {
    const name = /^metadata\[(.*)\]$/s.exec(field)?.[1];
    if (name === undefined && field !== "metadata") others.push([field, value]);
    else if (name !== undefined && typeof value === "string") metadata.push([name, value]);
    // Clients send an empty value for a null filter.
    else if (value !== "") throw otherMetadata(field);
  }
  return { ...Object.fromEntries(others), metadata: Object.fromEntries(metadata) };
}

function otherMetadata(field: string): ServiceError {
  const message = `${cut(field)} is not a valid metadata filter. Write each as metadata[name]=text, and each name once.`;
  return new ServiceError({
    code: "invalid",
    faults: [{ location: ["query", "metadata"], message, type: "value_error" }],
  });
}

/** Returns the filters that a query describes, except those by model, entity and project. */
export function storedFilter(
  query: Static<typeof storedQuerySchema>,
): Omit<CompletionFilter, "entity" | "projectId" | "modelId"> {
  const faults: Fault[] = [];
  const { step = null, request_id: requestId = null, feedback } = query;
  const filter = {
    step,
    requestId,
    endedFrom: readTime(query, "since", faults),
    endedBefore: readTime(query, "until", faults),
    feedback: feedback === undefined ? null : feedbackIn(feedback),
  };
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
  return filter;
}

function feedbackIn(text: string): CompletionFilter["feedback"] {
  return text === "any" || text === "none" ? { kind: text } : { kind: "type", type: text };
}

/** Fields of every answer about a recorded completion. */
export const summaryAnswer = answerOf<ListedCompletion>()(null, {
  id: [
    Type.String({ description: "Id of the answer: `chatcmpl-` and the request's id." }),
    ({ requestId }) => `chatcmpl-${requestId}`,
  ],
  object: [Type.Enum(["chat.completion"]), () => "chat.completion" as const],
  created: [
    Type.Integer({ description: "Seconds since 1970." }),
    ({ startedAt }) => Math.floor(startedAt.getTime() / 1000),
  ],
  request_id: Type.String(),
  reference: [
    Type.String({ description: "Reference of the completion for feedback." }),
    (listed) => callReference(listed),
  ],
  project_id: projectField,
  model_id: Type.String({ format: "uuid" }),
  step: Type.Integer({ minimum: 0, description: "Version that answered." }),
  model: Type.String({ description: "The requested name." }),
  system_fingerprint: [
    Type.String({ description: "Identifies base, version and engine build." }),
    ({ fingerprint }) => fingerprint,
  ],
  service_tier: [Type.Enum(["default"]), () => "default" as const],
  owner: Type.String({ description: "Owner of the key that sent the request." }),
  started_at: Type.String({ format: "date-time" }),
  ended_at: Type.String({ format: "date-time" }),
  usage: [usageSchema, ({ usage }) => usageBody(usage)],
  prompt_hash: Type.String({ description: "Equal for prompts with the same tokens." }),
  finish_reasons: Type.Array(Type.String(), { description: "One per choice." }),
  has_logprobs: Type.Boolean(),
  is_whole: Type.Boolean({
    description: "False if the completion was too large; its messages and tokens are then not recorded.",
  }),
  byte_count: Type.Integer({
    minimum: 0,
    description: "Bytes stored only for this completion, without data that it shares with others.",
  }),
  prompt: [
    Type.String({ description: "Start of the last user message, or of the prompt's text." }),
    ({ promptText }) => promptText,
  ],
  answer: [Type.String({ description: "Start of the first choice." }), ({ answerText }) => answerText],
  metadata: Type.Object({}, { additionalProperties: Type.String(), description: "Metadata of the request." }),
});

export const storedPageSchema = pageSchema(
  Type.Object(
    {
      ...summaryAnswer.schema.properties,
      choices: Type.Array(choiceSchema, {
        description:
          "The choices without log-probabilities; empty if the completion was too large to be recorded whole.",
      }),
    },
    { title: "StoredChatCompletion" },
  ),
);

/** Converts a recorded completion to an entry of a list. */
export function storedBody(stored: StoredCompletion): object {
  const choices = (stored.content?.choices ?? []).map((choice, index) => ({
    index,
    message: recordedMessage(choice),
    logprobs: null,
    ...finishBody(choice.finish),
    token_ids: choice.tokenIds,
  }));
  return { ...summaryAnswer.body(stored), choices };
}

/** Returns a choice's message in the form in which it was answered. */
export function recordedMessage({ text, reasoning, toolCalls }: RecordedChoice): object {
  const calls = toolCalls.map(({ isText, ...call }, index) => ({
    index,
    ...call,
    ...(isText ? { isText: true as const } : {}),
  }));
  return messageBody("assistant", { text, reasoning, toolCalls: calls });
}

/** Returns the error for an unknown cursor. */
export function unknownCursor(after: string): ServiceError {
  const message = `after is ${quoted(after)}, which is not a cursor of this list. Use last_id of the previous page`;
  const faults = [{ location: ["query", "after"], message, type: "value_error" }];
  return new ServiceError({ code: "invalid", message: `${message}.`, faults });
}

const storedMessageSchema = Type.Object(
  {
    id: Type.String({ description: "The completion's id and the message's index." }),
    role: Type.String(),
  },
  { additionalProperties: true, title: "StoredMessage" },
);

export const messagePageSchema = pageSchema(storedMessageSchema);

/** Returns the messages that the request sent, each with an id; empty for a text completion. */
export function storedMessages({ requestId, content }: StoredCompletion): readonly { readonly id: string }[] {
  const { prompt } = content ?? {};
  const messages = prompt?.kind === "conversation" ? prompt.messages : [];
  return messages.map((message, index) => ({ ...message, id: `chatcmpl-${requestId}-${index}` }));
}

/**
 * Returns a page of an in-memory list.
 *
 * @throws ServiceError `invalid` if `after` is not the id of an item
 */
export function sliceOf<Item extends { readonly id: string }>(
  items: readonly Item[],
  { after = "", limit = 20, order = "asc" }: Static<typeof messageQuerySchema>,
): Page<Item> {
  const inOrder = order === "asc" ? items : items.toReversed();
  const start = after === "" ? 0 : inOrder.findIndex(({ id }) => id === after) + 1;
  if (after !== "" && start === 0) throw unknownCursor(after);
  return { items: inOrder.slice(start, start + limit), hasMore: inOrder.length > start + limit };
}
