// POST /v1/completions: reads the request, asks chat for each of its prompts at once, and writes the answer whole or as a
// stream.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { RequestEvent } from "../../domain/chat.ts";
import { completeTogether } from "../../chat/complete-together.ts";
import { answerBytes, sendAnswer } from "../bodies/write-answer.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { endedFor, mapEventErrors } from "../request-end.ts";
import { firstOrSilence, openEventStream, sendAll } from "../event-reply.ts";
import { noted } from "./generated-tokens.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { refuseStrangeId } from "../request-id.ts";
import { abandonedSignal } from "../request-scope.ts";
import { locatedEvents } from "../../wire/places.ts";
import { completionChunks } from "../../wire/completions/completion-chunks.ts";
import {
  completionAnswerSchema,
  completionChunkSchema,
} from "../../wire/completions/completion-answer-schema.ts";
import { completionForm } from "../../wire/completions/completion-request.ts";
import { completionResponse } from "../../wire/completions/completion-response.ts";
import { answeringRoute, type Answering } from "./answer-chat.ts";

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
  nameIgnored(reply, read.ignored);
  const { requests, places, form } = read;
  const signal = abandonedSignal(reply);
  const answers = completeTogether(
    requests.length,
    (index, options) => {
      const answering = dependencies.chat.complete(requests[index], request.caller, options);
      return locatedEvents(noted(answering, request, index), places[index]);
    },
    signal,
  );
  const events = mapEventErrors(answers, (error) => endedFor(error, signal));
  try {
    if (!form.isStream) {
      const answer = await completionResponse(read, events, answerBytes(reply, budget));
      return sendAnswer(reply, answer, dependencies.settings);
    }
    // Until something is there, whatever goes wrong is an ordinary answer, unless that takes long.
    const first = events.next();
    await firstOrSilence(first, dependencies);
    const stream = openEventStream(reply, dependencies);
    await sendAll(stream, completionChunks(read, resumed(first, events)), request, dependencies.logger);
    return reply;
  } finally {
    await events.return(undefined);
  }
}

async function* resumed(
  beginning: Promise<IteratorResult<RequestEvent>>,
  rest: AsyncIterable<RequestEvent>,
): AsyncGenerator<RequestEvent> {
  const first = await beginning;
  if (first.done !== true) yield first.value;
  yield* rest;
}
