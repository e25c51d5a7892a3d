// API format of lists of recorded completions. Their items are stored chat completions as in OpenAI's API, with
// additional data that this server records.
import { Type, type Static } from "typebox";
import type { Cost } from "../../../base/domain/costs/prices.ts";
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
import { costRows } from "../costs/cost-rows.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";
import { pageQueryFields, pageSchema } from "../page.ts";
import { readWords, textField } from "../fields/searched-text.ts";
import { readTime } from "../trajectories/row-query.ts";

const projectField = Type.String({ description: "Project, as `<entity>/<project>`." });

export const storedQuerySchema = Type.Object({
  ...pageQueryFields,
  project: Type.Optional(Type.String({ description: "Only completions of this `<entity>/<project>`." })),
  model: Type.Optional(
    Type.String({
      description:
        "Only completions of this trained model, given by its id or by any name that a chat request accepts. A name that ends in `:step3` selects only that version.",
    }),
  ),
  step: Type.Optional(
    Type.Integer({ minimum: 0, description: "Only completions by this version of the model." }),
  ),
  since: Type.Optional(
    Type.String({ format: "date-time", description: "Only completions that ended at this time or later." }),
  ),
  until: Type.Optional(
    Type.String({ format: "date-time", description: "Only completions that ended before this time." }),
  ),
  request_id: Type.Optional(Type.String({ description: "Only the completion of the request with this id." })),
  feedback: Type.Optional(
    Type.String({
      description:
        "`any`: only completions with feedback. `none`: only completions without feedback. Any other value: only completions with feedback of this type.",
      examples: ["any"],
    }),
  ),
  text: Type.Optional(textField("completions")),
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

const ofRequest = Type.String({
  description:
    "The request's `<entity>/<project>`. Required if several projects have a completion with the same request id.",
});

/**
 * Query of the routes with a completion's request id in the URL. `project` is required if completions of several
 * projects have this id.
 */
export const callQuerySchema = Type.Object({ project: Type.Optional(ofRequest) });

export const messageQuerySchema = Type.Object({ ...pageQueryFields, project: Type.Optional(ofRequest) });

/**
 * Collects the query parameters `metadata[name]=text` in a single field `metadata`.
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
    // Accepts a parameter `metadata` with an empty value, because clients send it for a null filter.
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

/** Returns the filters in a query, except those on model, entity and project, and the words to search for. */
export function storedFilter(
  query: Static<typeof storedQuerySchema>,
): Omit<CompletionFilter, "entity" | "projectId" | "modelId"> & { readonly words: readonly string[] } {
  const faults: Fault[] = [];
  const { step = null, request_id: requestId = null, feedback } = query;
  const filter = {
    step,
    requestId,
    endedFrom: readTime(query, "since", faults),
    endedBefore: readTime(query, "until", faults),
    feedback: feedback === undefined ? null : feedbackIn(feedback),
    words: readWords(query, faults),
  };
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
  return filter;
}

function feedbackIn(text: string): CompletionFilter["feedback"] {
  return text === "any" || text === "none" ? { kind: text } : { kind: "type", type: text };
}

/** Fields of every answer about a recorded completion. */
export const summaryAnswer = answerOf<ListedCompletion & Cost>()(null, {
  id: [
    Type.String({ description: "Id of the completion: `chatcmpl-` followed by the request's id." }),
    ({ requestId }) => `chatcmpl-${requestId}`,
  ],
  object: [Type.Enum(["chat.completion"]), () => "chat.completion" as const],
  created: [
    Type.Integer({ description: "Unix time in seconds." }),
    ({ startedAt }) => Math.floor(startedAt.getTime() / 1000),
  ],
  request_id: Type.String({ description: "Id of the request." }),
  reference: [
    Type.String({ description: "Reference of the completion, to send as `vendor_ref` of feedback." }),
    (listed) => callReference(listed),
  ],
  project_id: projectField,
  model_id: Type.String({ format: "uuid", description: "Id of the model that answered." }),
  step: Type.Integer({ minimum: 0, description: "Version of the model that gave the answer." }),
  model: Type.String({ description: "The requested model name." }),
  system_fingerprint: [
    Type.String({ description: "Identifies the base model, the version, and the build of the engine." }),
    ({ fingerprint }) => fingerprint,
  ],
  service_tier: [Type.Enum(["default"]), () => "default" as const],
  owner: Type.String({ description: "Owner of the key that sent the request." }),
  started_at: Type.String({ format: "date-time" }),
  ended_at: Type.String({ format: "date-time" }),
  first_token_ms: [
    orNull(Type.Integer({ minimum: 0 }), {
      description:
        "Milliseconds from the beginning of the request to the first token; null if this is not recorded.",
    }),
    ({ firstTokenMs = null }) => firstTokenMs,
  ],
  usage: [usageSchema, ({ usage }) => usageBody(usage)],
  ...costRows("the tokens in `usage`"),
  prompt_hash: Type.String({
    description: "Hash of the prompt's tokens. Prompts with the same tokens have the same hash.",
  }),
  finish_reasons: Type.Array(Type.String(), { description: "Finish reason of each choice." }),
  has_logprobs: Type.Boolean({ description: "True if log-probabilities are recorded." }),
  is_whole: Type.Boolean({
    description:
      "False if the completion was too large to be recorded whole; its messages and tokens are then missing.",
  }),
  byte_count: Type.Integer({
    minimum: 0,
    description:
      "Number of bytes stored for this completion, without data that it shares with other completions.",
  }),
  prompt: [
    Type.String({ description: "Beginning of the last user message; for a text completion, of the prompt." }),
    ({ promptText }) => promptText,
  ],
  answer: [
    Type.String({ description: "Beginning of the first choice's text." }),
    ({ answerText }) => answerText,
  ],
  metadata: Type.Object(
    {},
    { additionalProperties: Type.String(), description: "The request's `metadata`." },
  ),
});

export const storedPageSchema = pageSchema(
  Type.Object(
    {
      ...summaryAnswer.schema.properties,
      choices: Type.Array(choiceSchema, {
        description: "The choices, without log-probabilities; empty if `is_whole` is false.",
      }),
    },
    { title: "StoredChatCompletion" },
  ),
);

/** Converts a recorded completion to an entry of a list of stored chat completions. */
export function storedBody(stored: StoredCompletion & Cost): object {
  const choices = (stored.content?.choices ?? []).map((choice, index) => ({
    index,
    message: recordedMessage(choice),
    logprobs: null,
    ...finishBody(choice.finish),
    token_ids: choice.tokenIds,
  }));
  return { ...summaryAnswer.body(stored), choices };
}

/** Returns the message of a choice, in the same form as in the original answer. */
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
    id: Type.String({
      description: "Id of the message: the completion's id and the message's index, separated by `-`.",
    }),
    role: Type.String(),
  },
  { additionalProperties: true, title: "StoredMessage" },
);

export const messagePageSchema = pageSchema(storedMessageSchema);

/** Returns the messages of the recorded request, each with an id; empty for a text completion. */
export function storedMessages({ requestId, content }: StoredCompletion): readonly { readonly id: string }[] {
  const { prompt } = content ?? {};
  const messages = prompt?.kind === "conversation" ? prompt.messages : [];
  return messages.map((message, index) => ({ ...message, id: `chatcmpl-${requestId}-${index}` }));
}

/**
 * Returns a page of a list that is in memory.
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
