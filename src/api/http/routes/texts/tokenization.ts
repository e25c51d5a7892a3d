// POST /tokenize and /detokenize: what a chat would make of a prompt, without an answer.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { locate } from "../../../wire/places.ts";
import { tokenizationPlaces } from "../../../wire/tokenize/read-tokenization.ts";
import {
  detokenizedSchema,
  detokenizeSchema,
  tokenizedBody,
  tokenizedSchema,
  tokenizeSchema,
} from "../../../wire/tokenize/tokenize-schemas.ts";
import { readApart, type BodyReader } from "../../bodies/body-reader.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { endedFor, mapErrors } from "../../request-end.ts";
import { nameIgnored } from "../../input/ignored-fields.ts";
import { abandonedSignal } from "../../request-scope.ts";

export function tokenizationRoutes(
  app: FastifyInstance,
  { tokenization, settings }: HttpDependencies,
  bodies: BodyReader,
): void {
  const options = { ...readApart, bodyLimit: settings.chatBodyBytes };
  const documented = { tags: ["chat"], security: [{ bearer: [] }] };
  const tokenize = {
    summary: "Say which tokens a text or a conversation is",
    ...documented,
    body: tokenizeSchema,
    response: answered("The tokens.", { json: tokenizedSchema }),
  };
  app.post("/tokenize", { ...options, schema: tokenize }, async (request: FastifyRequest, reply) => {
    const { request: asked, ignored } = await bodies.read("tokenization", request);
    nameIgnored(reply, ignored);
    const signal = abandonedSignal(reply);
    return tokenizedBody(await located(tokenization.tokenize(asked, request.caller, { signal }), signal));
  });
  const detokenize = {
    summary: "Say which text tokens are",
    ...documented,
    body: detokenizeSchema,
    response: answered("The text.", { json: detokenizedSchema }),
  };
  app.post("/detokenize", { ...options, schema: detokenize }, async (request: FastifyRequest, reply) => {
    const { request: asked, ignored } = await bodies.read("detokenization", request);
    nameIgnored(reply, ignored);
    const signal = abandonedSignal(reply);
    return { prompt: await located(tokenization.detokenize(asked, request.caller, { signal }), signal) };
  });
}

/** What is thrown names fields as the client sent them. */
function located<Value>(result: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return mapErrors(result, (error) => locate(endedFor(error, signal), tokenizationPlaces));
}
