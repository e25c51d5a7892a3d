// What the routes that answer from a model have in common: asking chat, and answering whole or as a stream of events. How
// either is spelled is the route's.
import type { FastifyReply, FastifyRequest } from "fastify";
import { assert } from "../../domain/assert.ts";
import type { ChatEvent, ChatHeader, ChatRequest } from "../../domain/chat.ts";
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import type { ByteBudget } from "../bodies/gather-body.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endedFor, mapEventErrors } from "../request-end.ts";
import { firstOrSilence } from "../event-reply.ts";
import { noted } from "./generated-tokens.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { abandonedSignal } from "../request-scope.ts";

/** What reads requests to models, and what bounds them and their answers. */
export interface Answering {
  readonly bodies: BodyReader;
  readonly budget: ByteBudget;
}

/** What was read of a request, and how it is answered. */
export interface AskedChat {
  readonly request: ChatRequest;
  readonly ignored: readonly string[];
  /** What the client should know of how the request was read, in sentences. */
  readonly notices: readonly string[];
  readonly isStream: boolean;
  /** What the events throw, with fields as the client sent them. */
  located(error: unknown): unknown;
  /** What is answered that is no stream. */
  whole(header: ChatHeader, events: AsyncIterable<ChatEvent>): Promise<unknown>;
  /** Opens a stream and sends everything. */
  stream(opening: Promise<ChatHeader>, events: AsyncIterable<ChatEvent>): Promise<void>;
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
export async function answerChat(
  asked: AskedChat,
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
): Promise<unknown> {
  nameIgnored(reply, asked.ignored);
  writeNotices(reply, asked.notices);
  const signal = abandonedSignal(reply);
  const answering = dependencies.chat.complete(asked.request, request.caller, { signal });
  const events = mapEventErrors(noted(answering, request), (error) => asked.located(endedFor(error, signal)));
  try {
    // Until the header is there, whatever goes wrong is an ordinary answer, unless that takes long.
    const opening = firstHeader(events).then((header) => {
      const { notice } = header;
      if (notice !== null && !reply.sent) writeNotices(reply, [...asked.notices, notice]);
      return header;
    });
    if (!asked.isStream) return await asked.whole(await opening, events);
    await firstOrSilence(opening, dependencies);
    await asked.stream(opening, events);
    return reply;
  } finally {
    await events.return(undefined);
  }
}

function writeNotices(reply: FastifyReply, notices: readonly string[]): void {
  if (notices.length > 0) reply.header("x-hone-notice", inHeader(notices.join("; ")));
}

/** Headers hold plain characters alone. */
function inHeader(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}

async function firstHeader(events: AsyncIterator<ChatEvent>): Promise<ChatHeader> {
  const first = await events.next();
  assert(first.done !== true && first.value.kind === "header", "a completion begins with its header");
  return first.value.header;
}
