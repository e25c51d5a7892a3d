// POST /v1/chat/completions: how its request is read, and how its answer is spelled.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { locate } from "../../wire/places.ts";
import { answerBytes, sendAnswer } from "../bodies/write-answer.ts";
import { refuseStrangeId } from "../request-id.ts";
import { openEventStream, sendAll } from "../event-reply.ts";
import { chatAnswerSchema, chatChunkSchema } from "../../wire/chat/chat-answer-schema.ts";
import { chatChunks } from "../../wire/chat/chat-chunks.ts";
import { chatRequestSchema } from "../../wire/chat/chat-request.ts";
import { chatResponse } from "../../wire/chat/chat-response.ts";
import { answerChat, answeringRoute, type Answering, type AskedChat } from "./answer-chat.ts";

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
  const { request: chatRequest, form, places, ignored, notices } = await bodies.read("chat", request);
  const asked: AskedChat = {
    request: chatRequest,
    ignored,
    notices,
    isStream: form.isStream,
    located: (error) => locate(error, places),
    whole: async (header, events) => {
      const take = answerBytes(reply, budget);
      const answer = await chatResponse(chatRequest, form, { header, events, take });
      return sendAnswer(reply, answer, dependencies.settings);
    },
    stream: (opening, events) => {
      const chunks = chatChunks(chatRequest, form, opening, events);
      return sendAll(openEventStream(reply, dependencies), chunks, request, dependencies.logger);
    },
  };
  return answerChat(asked, request, reply, dependencies);
}
