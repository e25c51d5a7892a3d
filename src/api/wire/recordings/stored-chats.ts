// Recorded completions as OpenAI's clients ask for stored ones: the answer without tokens, its messages, and which are asked for.
import { Type, type Static } from "typebox";
import type { Page } from "../../../base/domain/page.ts";
import type { StoredCompletion } from "../../../base/domain/recordings/completion-store.ts";
import { cut, ServiceError } from "../../../base/domain/service-error.ts";
import { choiceSchema, usageSchema } from "../chat/chat-answer-schema.ts";
import { finishBody, usageBody } from "../chat/chat-response.ts";
import { pageQueryFields, pageQuerySchema, pageSchema } from "../page.ts";
import { noPlace } from "./outlines.ts";
import { recordedMessage } from "./recorded-body.ts";

export const storedQuerySchema = Type.Object({
  ...pageQueryFields,
  model: Type.Optional(Type.String({ description: "Only of this trained model." })),
  metadata: Type.Optional(
    Type.String({
      description: "As `metadata[name]=text`, and all of several: only those whose request said so.",
    }),
  ),
});

export const messageQuerySchema = pageQuerySchema;

/**
 * What a query of `metadata[name]=text` asks for; the other fields are left.
 *
 * @throws ServiceError `invalid` for metadata that is written in another way
 */
export function metadataIn(query: Readonly<Record<string, unknown>>): {
  readonly wanted: Readonly<Record<string, string>>;
  readonly others: Readonly<Record<string, unknown>>;
} {
  const wanted: [name: string, text: string][] = [];
  const others: [name: string, value: unknown][] = [];
  for (const [field, value] of Object.entries(query)) {
    const name = /^metadata\[(.*)\]$/s.exec(field)?.[1];
    if (name === undefined && field !== "metadata") others.push([field, value]);
    else if (name !== undefined && typeof value === "string") wanted.push([name, value]);
    // Nothing is what clients send of a filter that is null.
    else if (value !== "") throw otherMetadata(field);
  }
  return { wanted: Object.fromEntries(wanted), others: Object.fromEntries(others) };
}

function otherMetadata(field: string): ServiceError {
  const message = `${cut(field)} is no filter by metadata. Write each as metadata[name]=text, and each name once.`;
  return new ServiceError({
    code: "invalid",
    faults: [{ location: ["query", "metadata"], message, type: "value_error" }],
  });
}

export const storedAnswerSchema = Type.Object(
  {
    id: Type.String({ description: "`chatcmpl-` and the request's id." }),
    object: Type.Enum(["chat.completion"]),
    created: Type.Integer({ description: "Seconds since 1970." }),
    model: Type.String({ description: "The name that was asked for." }),
    system_fingerprint: Type.String({ description: "Names base, version and engine build." }),
    request_id: Type.String(),
    service_tier: Type.Enum(["default"]),
    metadata: Type.Object({}, { additionalProperties: Type.String() }),
    usage: usageSchema,
    choices: Type.Array(choiceSchema, {
      description: "Without log-probabilities; empty of one that was too large to be recorded whole.",
    }),
  },
  { title: "StoredChatCompletion" },
);

export const storedPageSchema = pageSchema(storedAnswerSchema);

/** As OpenAI's clients read it. */
export function storedAnswer(stored: StoredCompletion) {
  return {
    id: `chatcmpl-${stored.requestId}`,
    object: "chat.completion",
    created: Math.floor(stored.startedAt.getTime() / 1000),
    model: stored.model,
    system_fingerprint: stored.fingerprint,
    request_id: stored.requestId,
    service_tier: "default",
    metadata: stored.metadata,
    usage: usageBody(stored.usage),
    choices: (stored.content?.choices ?? []).map((choice, index) => ({
      index,
      message: recordedMessage(choice),
      logprobs: null,
      ...finishBody(choice.finish),
      token_ids: choice.tokenIds,
    })),
  };
}

const storedMessageSchema = Type.Object(
  {
    id: Type.String({ description: "Of the message: the completion's, and its place." }),
    role: Type.String(),
  },
  { additionalProperties: true, title: "StoredMessage" },
);

export const messagePageSchema = pageSchema(storedMessageSchema);

/** The messages that were sent, each with an id; a text completion has none. */
export function storedMessages({ requestId, content }: StoredCompletion): readonly { readonly id: string }[] {
  const { prompt } = content ?? {};
  const messages = prompt?.kind === "conversation" ? prompt.messages : [];
  return messages.map((message, index) => ({ ...message, id: `chatcmpl-${requestId}-${index}` }));
}

/**
 * A slice of a list that is in memory, as a page.
 *
 * @throws ServiceError `invalid` where `after` names none of its items
 */
export function sliceOf<Item extends { readonly id: string }>(
  items: readonly Item[],
  { after = "", limit = 20, order = "asc" }: Static<typeof pageQuerySchema>,
): Page<Item> {
  const inOrder = order === "asc" ? items : items.toReversed();
  const start = after === "" ? 0 : inOrder.findIndex(({ id }) => id === after) + 1;
  if (after !== "" && start === 0) throw noPlace(after);
  return { items: inOrder.slice(start, start + limit), hasMore: inOrder.length > start + limit };
}
