// POST /v1/chat/completions: reads the request, asks chat, and writes the answer whole or as a stream.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { assert } from "../../domain/assert.ts";
import type { ChatEvent, ChatHeader } from "../../domain/chat.ts";
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { locatedEvents } from "../../wire/places.ts";
import { writeAnswer } from "../bodies/write-answer.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { refuseStrangeId } from "../request-id.ts";
import { abandonedSignal } from "../request-scope.ts";
import { firstOrSilence, openEventStream, sendAll } from "../event-reply.ts";
import { chatAnswerSchema, chatChunkSchema } from "../../wire/chat/chat-answer-schema.ts";
import { chatChunks } from "../../wire/chat/chat-chunks.ts";
import { documentedChatRequest } from "../../wire/chat/chat-documentation.ts";
import { chatResponse } from "../../wire/chat/chat-response.ts";

export function chatCompletionRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  bodies: BodyReader,
): void {
  const options = {
    ...readApart,
    bodyLimit: dependencies.settings.chatBodyBytes,
    schema: {
      summary: "Create a chat completion",
      description:
        "Answers a conversation, whole or, with `stream`, as events that end with `[DONE]`; an error on the way is one event with the body that errors have. Numbers are IEEE doubles. Fields that nothing reads are named in the response header `x-hone-ignored`.",
      tags: ["chat"],
      security: [{ bearer: [] }],
      body: documentedChatRequest,
      response: answered("A completion.", { json: chatAnswerSchema, events: chatChunkSchema }),
    },
  };
  const handler = (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    complete(request, reply, dependencies, bodies);
  app.post("/v1/chat/completions", options, handler);
  app.post("/v1/chat/completions/", options, handler);
}

async function complete(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
  bodies: BodyReader,
): Promise<unknown> {
  refuseStrangeId(request);
  const { request: chatRequest, form, places, ignored } = await bodies.read("chat", request);
  nameIgnored(reply, ignored);
  const signal = abandonedSignal(reply);
  const completion = dependencies.chat.complete(chatRequest, request.caller, { signal });
  const events = locatedEvents(completion, places);
  try {
    // Until the header is there, whatever goes wrong is an ordinary answer, unless that takes long.
    const opening = firstHeader(events).then((header) => {
      const { notice } = header;
      if (notice !== null && !reply.sent) reply.header("x-hone-notice", inHeader(notice));
      return header;
    });
    if (!form.isStream) {
      const answer = await writeAnswer(await chatResponse(chatRequest, form, await opening, events));
      return await reply.type("application/json; charset=utf-8").send(answer);
    }
    await firstOrSilence(opening, dependencies);
    const chunks = chatChunks(chatRequest, form, opening, events);
    await sendAll(openEventStream(reply, dependencies), chunks, request, dependencies.logger);
    return reply;
  } finally {
    await events.return(undefined);
  }
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
