// POST /v1/chat/completions, and what the routes that answer from a model have in common: asking chat, and answering whole
// or as a stream of events. How either is spelled is the wire's.
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
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import type { ByteBudget } from "../bodies/gather-body.ts";
import { answerBytes, sendAnswer } from "../bodies/write-answer.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { ErrorBody } from "../errors.ts";
import { endAfter, firstOrSilence, openEventStream } from "../event-reply.ts";
import { nameIgnored } from "../input/read-input.ts";
import { writeStandings } from "../limits/admission.ts";
import { endedFor, refuseStrangeId } from "../request-life.ts";
import { abandonedSignal } from "../request-scope.ts";
import { noted } from "../measures/request-metrics.ts";
import { answered } from "../documentation/document-routes.ts";
import { locate } from "../../wire/field-paths.ts";
import { chatAnswerSchema, chatChunkSchema } from "../../wire/chat/chat-answer-schema.ts";
import { chatChunks } from "../../wire/chat/chat-chunks.ts";
import { chatRequestSchema } from "../../wire/chat/chat-request.ts";
import { chatAnswer } from "../../wire/chat/chat-response.ts";

/** What reads requests to models, and what bounds them and their answers. */
export interface Answering {
  readonly bodies: BodyReader;
  readonly budget: ByteBudget;
}

/** Makes the events of one stream of a completion. */
interface StreamWriter<Step> {
  /** What comes before the first step; `usage` is of the prompt alone. */
  begin?(usage: ChatUsage): readonly object[];
  add(step: Step): readonly object[];
  end(usage: ChatUsage): readonly object[];
  /** What comes instead of the rest; absent, it is the body that errors have. */
  fail?(body: ErrorBody): readonly object[];
}

/** Adds a completion up to one answer. */
interface AnswerWriter<Step> {
  add(step: Step): void;
  end(usage: ChatUsage): object;
}

/** What was read of a request, and how it is answered. */
interface AskedChat<Step> {
  readonly ignored: readonly string[];
  /** What the client should know of how the request was read, in sentences. */
  readonly notices: readonly string[];
  readonly isStream: boolean;
  begin(signal: AbortSignal): Promise<ChatCompletion<Step>>;
  /** @param take called with what is in memory of the answer */
  whole(header: ChatHeader, take: TakeBytes): AnswerWriter<Step>;
  stream(header: ChatHeader, take: TakeBytes): StreamWriter<Step>;
  /** Whether the stream's events are named by their type; absent where they are not. */
  readonly isNamed?: boolean;
  /** What keeps the stream alive; absent is a comment. */
  readonly keepAliveEvent?: object;
  /** What a stream says of a completion that could not begin; absent says the body that errors have. */
  failure?(body: ErrorBody): object;
}

/** Begins one completion for the request; `located` says of its errors where in the request they were sent. */
type BeginChat = (
  chat: ChatRequest,
  options: BeginOptions & { readonly located: (error: unknown) => unknown },
) => Promise<ChatCompletion>;

export interface AnsweringRoute<Kind extends BodyKind, Step = readonly ChatDelta[]> {
  readonly paths: readonly string[];
  /** What its bodies are read as. */
  readonly kind: Kind;
  readonly schema: {
    readonly summary: string;
    readonly description: string;
    readonly body: unknown;
    readonly response: unknown;
  };
  readonly ask: (read: BodyTasks[Kind]["result"], begin: BeginChat) => AskedChat<Step>;
}

/** Adds a route that answers from a model. */
export function addAnsweringRoute<Kind extends BodyKind, Step>(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  { bodies, budget }: Answering,
  { paths, kind, schema, ask }: AnsweringRoute<Kind, Step>,
): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    refuseStrangeId(request);
    const read = await bodies.read(kind, request);
    const signal = abandonedSignal(reply);
    const begin: BeginChat = async (chat, options) => {
      const located = (error: unknown): unknown => options.located(endedFor(error, signal));
      const { caller, allowance, span } = request;
      // A body may hold many requests.
      await loopTurns.next(caller.entity);
      const begun = await dependencies.chat.begin(chat, caller, { ...options, allowance, located, span });
      writeStandings(request, reply);
      return noted(begun, request);
    };
    return answerChat(ask(read, begin), { reply, signal, budget }, dependencies);
  };
  const options = {
    ...readApart,
    bodyLimit: dependencies.settings.chatBodyBytes,
    schema: { ...schema, tags: ["chat"], security: [{ bearer: [] }] },
  };
  for (const path of paths) app.post(path, options, handler);
}

/** What is answered: the whole, or the reply that was taken for a stream. */
async function answerChat<Step>(
  asked: AskedChat<Step>,
  {
    reply,
    signal,
    budget,
  }: { readonly reply: FastifyReply; readonly signal: AbortSignal; readonly budget: ByteBudget },
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
    if (asked.isStream) return await stream(asked, beginning, { reply, take, dependencies });
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
  asked: AskedChat<Step>,
  beginning: Promise<ChatCompletion<Step>>,
  {
    reply,
    take,
    dependencies,
  }: { readonly reply: FastifyReply; readonly take: TakeBytes; readonly dependencies: HttpDependencies },
): Promise<FastifyReply> {
  // Until it has begun, whatever goes wrong is an ordinary answer, unless that takes long.
  await firstOrSilence(beginning, dependencies);
  const events = openEventStream(reply, dependencies, {
    isNamed: asked.isNamed ?? false,
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
  const failure = (body: ErrorBody): readonly object[] =>
    writer === null ? [asked.failure?.(body) ?? body] : (writer.fail?.(body) ?? [body]);
  await endAfter(events, sendAll, { request: reply.request, logger: dependencies.logger, failure });
  return reply;
}

/** As what an answer is recorded: with a whole one it is on disk. */
function writeCall(reply: FastifyReply, { recordedAs }: Pick<ChatCompletion, "recordedAs">): void {
  if (recordedAs !== null) reply.header("x-hone-call", callReference(recordedAs));
}

function writeNotices(reply: FastifyReply, notices: readonly string[]): void {
  if (notices.length > 0) reply.header("x-hone-notice", inHeader(notices.join("; ")));
}

/** Headers hold plain characters alone. */
function inHeader(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}

/** POST /v1/chat/completions: how its request is read, and how its answer is spelled. */
export const chatCompletionRoute: AnsweringRoute<"chat"> = {
  paths: ["/v1/chat/completions", "/v1/chat/completions/"],
  kind: "chat",
  schema: {
    summary: "Create a chat completion",
    description:
      "Answers a conversation. With `stream` the answer is sent as events that end with `[DONE]`; an error during the stream is one event with the usual error body. Numbers are IEEE doubles. Unknown fields are named in the response header `x-hone-ignored`.",
    body: chatRequestSchema,
    response: answered("A completion.", { json: chatAnswerSchema, events: chatChunkSchema }),
  },
  ask: ({ request, form, places, ignored, notices }, begin) => ({
    ignored,
    notices,
    isStream: form.isStream,
    begin: (signal) => begin(request, { signal, located: (error) => locate(error, places) }),
    whole: (header, take) => chatAnswer(request, form, { header, take }),
    stream: (header) => chatChunks(request, form, header),
  }),
};
