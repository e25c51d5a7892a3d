// POST /v1/completions: reads the request, asks chat for each of its prompts at once, and writes the answer whole or as a
// stream.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { RequestDeltas } from "../../domain/chat.ts";
import { beginTogether, type BeginOne } from "../../chat/complete-together.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { endedFor } from "../request-end.ts";
import { noted } from "./generated-tokens.ts";
import { refuseStrangeId } from "../request-id.ts";
import { locate } from "../../wire/places.ts";
import { completionChunks } from "../../wire/completions/completion-chunks.ts";
import {
  completionAnswerSchema,
  completionChunkSchema,
} from "../../wire/completions/completion-answer-schema.ts";
import { completionForm } from "../../wire/completions/completion-request.ts";
import { completionAnswer } from "../../wire/completions/completion-response.ts";
import { answerChat, answeringRoute, type Answering, type AskedChat } from "./answer-chat.ts";

export function completionRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  answering: Answering,
): void {
  const options = answeringRoute(dependencies, {
    summary: "Create a text completion",
    description:
      "Goes on with a prompt, or with several, as they stand; whole or, with `stream`, as events that end with `[DONE]`. A prompt that cannot be taken is refused before the first event; an error after it is one event with the body that errors have.",
    body: completionForm.schema,
    response: answered("A completion.", { json: completionAnswerSchema, events: completionChunkSchema }),
  });
  app.post("/v1/completions", options, (request, reply) => complete(request, reply, dependencies, answering));
}

async function complete(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
  { bodies, budget }: Answering,
): Promise<unknown> {
  refuseStrangeId(request);
  const read = await bodies.read("completion", request);
  const { requests, places, form, ignored } = read;
  const asked: AskedChat<RequestDeltas> = {
    ignored,
    notices: [],
    isStream: form.isStream,
    begin: (signal) => {
      const beginOne: BeginOne = async (index, options) => {
        const located = (error: unknown): unknown => locate(endedFor(error, signal), places[index]);
        const { chat } = dependencies;
        return noted(await chat.begin(requests[index], request.caller, { ...options, located }), request);
      };
      return beginTogether(requests.length, beginOne, signal);
    },
    whole: (_, take) => completionAnswer(read, take),
    stream: (header) => completionChunks(read, header),
  };
  return answerChat(asked, reply, budget, dependencies);
}
