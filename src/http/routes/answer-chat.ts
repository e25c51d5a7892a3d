// What the routes that answer from a model have in common: asking chat, and answering whole or as a stream of events. How
// either is spelled is the wire's.
import type { FastifyReply } from "fastify";
import type { ChatCompletion, ChatDelta, ChatHeader, ChatUsage } from "../../domain/chat.ts";
import type { TakeBytes } from "../../wire/json-text.ts";
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import type { ByteBudget } from "../bodies/gather-body.ts";
import { answerBytes, sendAnswer } from "../bodies/write-answer.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { ErrorBody } from "../errors.ts";
import { endAfter, firstOrSilence, openEventStream } from "../event-reply.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { abandonedSignal } from "../request-scope.ts";

/** What reads requests to models, and what bounds them and their answers. */
export interface Answering {
  readonly bodies: BodyReader;
  readonly budget: ByteBudget;
}

/** Makes the events of one stream of a completion. */
interface StreamWriter<Step> {
  /** What comes before the first step. */
  begin?(): readonly object[];
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
export interface AskedChat<Step = readonly ChatDelta[]> {
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
  /** What a stream says of a completion that could not begin; absent says the body that errors have. */
  failure?(body: ErrorBody): object;
}

/** What such a route is declared with, beside what its description says of it. */
export function answeringRoute(
  { settings }: Pick<HttpDependencies, "settings">,
  described: {
    readonly summary: string;
    readonly description: string;
    readonly body: unknown;
    readonly response: unknown;
  },
) {
  const schema = { ...described, tags: ["chat"], security: [{ bearer: [] }] };
  return { ...readApart, bodyLimit: settings.chatBodyBytes, schema };
}

/** What is answered: the whole, or the reply that was taken for a stream. */
export async function answerChat<Step>(
  asked: AskedChat<Step>,
  reply: FastifyReply,
  budget: ByteBudget,
  dependencies: HttpDependencies,
): Promise<unknown> {
  nameIgnored(reply, asked.ignored);
  writeNotices(reply, asked.notices);
  const beginning = asked.begin(abandonedSignal(reply)).then((completion) => {
    const { notice } = completion.header;
    if (notice !== null && !reply.sent) writeNotices(reply, [...asked.notices, notice]);
    return completion;
  });
  const take = answerBytes(reply, budget);
  try {
    if (asked.isStream) return await stream(asked, beginning, { reply, take, dependencies });
    const completion = await beginning;
    const writer = asked.whole(completion.header, take);
    for await (const step of completion.deltas) writer.add(step);
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
  const events = openEventStream(reply, dependencies, { isNamed: asked.isNamed ?? false });
  let writer: StreamWriter<Step> | null = null;
  const sendAll = async (): Promise<void> => {
    const completion = await beginning;
    writer = asked.stream(completion.header, take);
    await events.send(...(writer.begin?.() ?? []));
    for await (const step of completion.deltas) await events.send(...writer.add(step));
    await events.send(...writer.end(completion.usage));
  };
  const failure = (body: ErrorBody): readonly object[] =>
    writer === null ? [asked.failure?.(body) ?? body] : (writer.fail?.(body) ?? [body]);
  await endAfter(events, sendAll, { request: reply.request, logger: dependencies.logger, failure });
  return reply;
}

function writeNotices(reply: FastifyReply, notices: readonly string[]): void {
  if (notices.length > 0) reply.header("x-hone-notice", inHeader(notices.join("; ")));
}

/** Headers hold plain characters alone. */
function inHeader(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}
