// POST /v1/chat/completions, and the code shared by all routes that answer from a model. These routes call the chat
// service, and send a complete answer or a stream of events. The folder `wire` defines the formats.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { BeginOptions } from "../../../inference/chat/complete-chat.ts";
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import { loopTurns } from "../../../base/domain/sharing/loop-turns.ts";
import type {
  ChatCompletion,
  ChatDelta,
  ChatHeader,
  ChatRequest,
  ChatUsage,
} from "../../../base/domain/chat.ts";
import type { BodyKind, BodyTasks } from "../../wire/body-tasks.ts";
import type { TakeBytes } from "../../wire/json-text.ts";
import { rawBody, type BodyReader } from "../bodies/body-reader.ts";
import type { ByteBudget } from "../bodies/gather-body.ts";
import { answerBytes, sendAnswer } from "../bodies/write-answer.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { ErrorBody } from "../errors.ts";
import { finishStream, waitBeforeStreaming, openEventStream } from "../event-reply.ts";
import { writeNotices } from "../input/notices.ts";
import { nameIgnored } from "../input/read-input.ts";
import { writeStandings } from "../limits/admission.ts";
import { onResponseEnd, toAbortReason, refuseInvalidRequestId } from "../request-lifecycle.ts";
import { type CallDelivery, followCall } from "./rollouts/call-delivery.ts";
import { abandonedSignal } from "../request-scope.ts";
import { trackCompletion } from "../measures/request-metrics.ts";
import { answered } from "../documentation/document-routes.ts";
import { locate } from "../../wire/field-paths.ts";
import { chatAnswerSchema, chatChunkSchema } from "../../wire/chat/chat-answer-schema.ts";
import { chatChunks } from "../../wire/chat/chat-chunks.ts";
import { chatRequestSchema } from "../../wire/chat/chat-request.ts";
import { chatAnswer } from "../../wire/chat/chat-response.ts";

/** Body reader and memory budget of routes that answer from a model. */
export interface Answering {
  readonly bodies: BodyReader;
  readonly budget: ByteBudget;
}

/** Converts the steps of one completion to the events of a stream. */
export interface StreamWriter<Step> {
  /** Returns the events to send before the first step. At that time, `usage` has only the tokens of the prompt. */
  begin?(usage: ChatUsage): readonly object[];
  add(step: Step): readonly object[];
  end(usage: ChatUsage): readonly object[];
  /** Returns the events to send for an error; if absent, one event with the common error body is sent. */
  fail?(body: ErrorBody): readonly object[];
}

/** Collects the steps of one completion into a complete answer. */
export interface AnswerWriter<Step> {
  add(step: Step): void;
  end(usage: ChatUsage): object;
}

/** A request whose body has been read, with the functions that run and answer it. */
export interface PreparedChat<Step> {
  readonly ignored: readonly string[];
  /** Notes for the client, in sentences, about how the server understood the request. */
  readonly notices: readonly string[];
  readonly isStream: boolean;
  begin(signal: AbortSignal): Promise<ChatCompletion<Step>>;
  /**
   * Returns the writer of a complete answer.
   *
   * @param take called with the number of bytes that the answer adds in memory
   */
  whole(header: ChatHeader, take: TakeBytes): AnswerWriter<Step>;
  stream(header: ChatHeader, take: TakeBytes): StreamWriter<Step>;
  /** True if each event of the stream has a name. The name is the event's type. */
  readonly isNamed?: boolean;
  /** True to stream lines of JSON instead of server-sent events. */
  readonly isLines?: boolean;
  /** Event that keeps the connection alive while there is nothing to send; if absent, a comment is sent. */
  readonly keepAliveEvent?: object;
  /**
   * Returns the event to send if the completion cannot begin, but the stream has already begun. If absent, the common
   * error body is sent.
   */
  failure?(body: ErrorBody): object;
}

/** Begins one completion of the request. `located` adds field paths to the errors of this completion. */
export type BeginChat = (
  chat: ChatRequest,
  options: BeginOptions & { readonly located: (error: unknown) => unknown },
) => Promise<ChatCompletion>;

export interface AnsweringRoute<Kind extends BodyKind, Step = readonly ChatDelta[]> {
  readonly paths: readonly string[];
  /** Kind of the request's body, by which the body reader finds its parser. */
  readonly kind: Kind;
  /** Section of the API documentation; `chat` if absent. */
  readonly tag?: string;
  readonly schema: {
    readonly summary: string;
    readonly description: string;
    readonly body: unknown;
    readonly response: unknown;
  };
  readonly ask: (read: BodyTasks[Kind]["result"], begin: BeginChat) => PreparedChat<Step>;
}

/** Adds a route that answers from a model, at each of its paths. */
export function addAnsweringRoute<Kind extends BodyKind, Step>(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  { bodies, budget }: Answering,
  { paths, kind, tag = "chat", schema, ask }: AnsweringRoute<Kind, Step>,
): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    refuseInvalidRequestId(request);
    const delivery = followCall(request, reply, dependencies, kind);
    try {
      return await answerRequest(request, reply, delivery);
    } finally {
      delivery?.end();
    }
  };
  const answerRequest = async (
    request: FastifyRequest,
    reply: FastifyReply,
    delivery: CallDelivery | null,
  ): Promise<unknown> => {
    const read = await bodies.read(kind, request);
    const signal = callSignal(request, reply, dependencies);
    const begin: BeginChat = async (chat, options) => {
      const located = (error: unknown): unknown => options.located(toAbortReason(error, signal));
      const { caller, allowance, span } = request;
      // One body may ask for many completions, so each completion waits for the entity's turn before it begins.
      await loopTurns.next(caller.entity);
      const attempt = delivery?.nextAttempt() ?? null;
      const asked = { ...options, allowance, located, span, attempt };
      const begun = await dependencies.chat.begin(chat, caller, asked);
      delivery?.add(begun);
      writeStandings(request, reply);
      return trackCompletion(begun, request);
    };
    return answerChat(ask(read, begin), { reply, signal, budget, delivery }, dependencies);
  };
  const options = {
    ...rawBody,
    bodyLimit: dependencies.settings.chatBodyBytes,
    schema: { ...schema, tags: [tag], security: [{ bearer: [] }] },
  };
  for (const path of paths) app.post(path, options, handler);
}

/** Returns a signal that aborts when the client has disconnected, or the rollout of the call has ended. */
function callSignal(
  { caller: { rollout = null } }: FastifyRequest,
  reply: FastifyReply,
  { rollouts }: Pick<HttpDependencies, "rollouts">,
): AbortSignal {
  const abandoned = abandonedSignal(reply);
  if (rollout === null) return abandoned;
  const { signal, leave } = rollouts.enterCall(rollout);
  onResponseEnd(reply.raw, leave);
  return AbortSignal.any([abandoned, signal]);
}

/** Returns the complete answer. For a stream, sends all events and returns the reply. */
async function answerChat<Step>(
  asked: PreparedChat<Step>,
  {
    reply,
    signal,
    budget,
    delivery,
  }: {
    readonly reply: FastifyReply;
    readonly signal: AbortSignal;
    readonly budget: ByteBudget;
    readonly delivery: CallDelivery | null;
  },
  dependencies: HttpDependencies,
): Promise<unknown> {
  nameIgnored(reply, asked.ignored);
  writeNotices(reply, asked.notices);
  const beginning = asked.begin(signal).then((completion) => {
    const { notice } = completion.header;
    if (notice !== null && !reply.sent) writeNotices(reply, [...asked.notices, notice]);
    if (asked.isStream && !reply.sent) writeCall(reply, completion);
    return completion;
  });
  const take = answerBytes(reply, budget);
  try {
    if (asked.isStream) return await stream(asked, beginning, { reply, take, delivery, dependencies });
    const completion = await beginning;
    const writer = asked.whole(completion.header, take);
    for await (const step of completion.deltas) writer.add(step);
    writeCall(reply, completion);
    return sendAnswer(reply, writer.end(completion.usage), dependencies.settings);
  } finally {
    await beginning.then(
      (completion) => completion.leave(),
      () => undefined,
    );
  }
}

async function stream<Step>(
  asked: PreparedChat<Step>,
  beginning: Promise<ChatCompletion<Step>>,
  {
    reply,
    take,
    delivery,
    dependencies,
  }: {
    readonly reply: FastifyReply;
    readonly take: TakeBytes;
    readonly delivery: CallDelivery | null;
    readonly dependencies: HttpDependencies;
  },
): Promise<FastifyReply> {
  // An error before the stream begins can still have its own status. The stream therefore begins only when the
  // completion has begun, or when that takes too long.
  await waitBeforeStreaming(beginning, dependencies);
  const events = openEventStream(reply, dependencies, {
    isNamed: asked.isNamed ?? false,
    isLines: asked.isLines ?? false,
    ...(asked.keepAliveEvent === undefined ? {} : { keepAliveEvent: asked.keepAliveEvent }),
  });
  let writer: StreamWriter<Step> | null = null;
  const sendAll = async (): Promise<void> => {
    const completion = await beginning;
    writer = asked.stream(completion.header, take);
    await events.send(...(writer.begin?.(completion.usage) ?? []));
    for await (const step of completion.deltas) await events.send(...writer.add(step));
    await events.send(...writer.end(completion.usage));
  };
  const failure = (body: ErrorBody): readonly object[] => {
    delivery?.fail();
    return writer === null ? [asked.failure?.(body) ?? body] : (writer.fail?.(body) ?? [body]);
  };
  await finishStream(events, sendAll, { request: reply.request, logger: dependencies.logger, failure });
  return reply;
}

/**
 * Sets the header with the reference of the recorded completion. A complete answer is sent only once its record is on
 * disk. Percent-encodes characters that a header cannot contain, such as those of a project with an Arabic name.
 */
function writeCall(reply: FastifyReply, { recordedAs }: Pick<ChatCompletion, "recordedAs">): void {
  if (recordedAs !== null)
    reply.header("x-hone-call", callReference(recordedAs).replaceAll(/[^ -~]/gu, encodeURIComponent));
}

/** The route POST /v1/chat/completions: reads chat requests and writes answers in OpenAI's format. */
export const chatCompletionRoute: AnsweringRoute<"chat"> = {
  paths: ["/v1/chat/completions", "/v1/chat/completions/"],
  kind: "chat",
  schema: {
    summary: "Create a chat completion",
    description:
      "Generates the next message of a conversation. With `stream` the server sends the answer as server-sent events, the last of which is `[DONE]`. An error during the stream is an event with the usual error body. The response header `x-hone-ignored` lists unknown fields of the request.",
    body: chatRequestSchema,
    response: answered("A completion.", { json: chatAnswerSchema, events: chatChunkSchema }),
  },
  ask: ({ request, form, fieldPaths, ignored, notices }, begin) => ({
    ignored,
    notices,
    isStream: form.isStream,
    begin: (signal) => begin(request, { signal, located: (error) => locate(error, fieldPaths) }),
    whole: (header, take) => chatAnswer(request, form, { header, take }),
    stream: (header) => chatChunks(request, form, header),
  }),
};
