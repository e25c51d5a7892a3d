// POST /v1/chat/completions: how its request is read, and how its answer is spelled.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { locate } from "../../wire/places.ts";
import { refuseStrangeId } from "../request-id.ts";
import { endedFor } from "../request-end.ts";
import { chatAnswerSchema, chatChunkSchema } from "../../wire/chat/chat-answer-schema.ts";
import { chatChunks } from "../../wire/chat/chat-chunks.ts";
import { chatRequestSchema } from "../../wire/chat/chat-request.ts";
import { chatAnswer } from "../../wire/chat/chat-response.ts";
import { answerChat, answeringRoute, type Answering, type AskedChat } from "./answer-chat.ts";
import { noted } from "./generated-tokens.ts";

export function chatCompletionRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  answering: Answering,
): void {
  const options = answeringRoute(dependencies, {
    summary: "Create a chat completion",
    description:
      "Answers a conversation, whole or, with `stream`, as events that end with `[DONE]`; an error on the way is one event with the body that errors have. Numbers are IEEE doubles. Fields that nothing reads are named in the response header `x-hone-ignored`.",
    body: chatRequestSchema,
    response: answered("A completion.", { json: chatAnswerSchema, events: chatChunkSchema }),
  });
  const handler = (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    complete(request, reply, dependencies, answering);
  app.post("/v1/chat/completions", options, handler);
  app.post("/v1/chat/completions/", options, handler);
}

async function complete(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
  { bodies, budget }: Answering,
): Promise<unknown> {
  refuseStrangeId(request);
  const read = await bodies.read("chat", request);
  const { request: chatRequest, form, places, ignored, notices } = read;
  const asked: AskedChat = {
    ignored,
    notices,
    isStream: form.isStream,
    begin: async (signal) => {
      const located = (error: unknown): unknown => locate(endedFor(error, signal), places);
      const { chat } = dependencies;
      return noted(await chat.begin(chatRequest, request.caller, { signal, located }), request);
    },
    whole: (header, take) => chatAnswer(chatRequest, form, { header, take }),
    stream: (header) => chatChunks(chatRequest, form, header),
  };
  return answerChat(asked, reply, budget, dependencies);
}
