// POST /v1/responses: OpenAI's Responses API over the same chat, without anything kept between requests.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { locate } from "../../wire/places.ts";
import { responsesForm } from "../../wire/responses/responses-fields.ts";
import { responseEventSchema, responseSchema } from "../../wire/responses/responses-answer-schema.ts";
import { responseError, responseEvents, wholeResponse } from "../../wire/responses/response-events.ts";
import { sentError } from "../../wire/responses/sent-places.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { endedFor } from "../request-end.ts";
import { refuseStrangeId } from "../request-id.ts";
import { answerChat, answeringRoute, type Answering, type AskedChat } from "./answer-chat.ts";
import { noted } from "./generated-tokens.ts";

export function responseRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  answering: Answering,
): void {
  const options = answeringRoute(dependencies, {
    summary: "Create a response",
    description:
      "OpenAI's Responses API without its state: whatever is to be known is in the request. With `stream` it sends events that are named by their type; the last one is `response.completed`, `response.incomplete` or `error`, and no `[DONE]` follows. Fields of a chat request that have no other name here mean what they mean there.",
    body: responsesForm.schema,
    response: answered("A response.", { json: responseSchema, events: responseEventSchema }),
  });
  app.post("/v1/responses", options, (request, reply) => respond(request, reply, dependencies, answering));
}

async function respond(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
  { bodies, budget }: Answering,
): Promise<unknown> {
  refuseStrangeId(request);
  const read = await bodies.read("response", request);
  const { places, origins, ignored, notices, form } = read;
  const response = { request: read.request, repeated: form.repeated };
  const asked: AskedChat = {
    ignored,
    notices,
    isStream: form.isStream,
    isNamed: true,
    begin: async (signal) => {
      const located = (error: unknown): unknown =>
        sentError(locate(endedFor(error, signal), places), origins);
      const { chat } = dependencies;
      return noted(await chat.begin(read.request, request.caller, { signal, located }), request);
    },
    whole: (header, take) => wholeResponse(response, header, take),
    stream: (header, take) => responseEvents(response, header, take),
    failure: (body) => responseError(body, 0),
  };
  return answerChat(asked, reply, budget, dependencies);
}
