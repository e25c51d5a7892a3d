// POST /tokenize and /detokenize: what a chat would make of a prompt, without an answer.
import type { FastifyInstance } from "fastify";
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
import { endpoints } from "../../endpoints/endpoint.ts";
import { endedFor, mapErrors } from "../../request-end.ts";
import { nameIgnored } from "../../input/ignored-fields.ts";
import { abandonedSignal } from "../../request-scope.ts";

export function tokenizationRoutes(
  app: FastifyInstance,
  { tokenization, settings }: HttpDependencies,
  bodies: BodyReader,
): void {
  const options = { ...readApart, bodyLimit: settings.chatBodyBytes };
  const on = endpoints(app, { tag: "chat", scheme: "bearer", places: tokenizationPlaces, options });
  on(
    "POST /tokenize",
    {
      summary: "Say which tokens a text or a conversation is",
      documented: { body: tokenizeSchema },
      answer: "The tokens.",
      json: tokenizedSchema,
    },
    async ({ caller, request, reply }) => {
      const { request: asked, ignored } = await bodies.read("tokenization", request);
      nameIgnored(reply, ignored);
      const signal = abandonedSignal(reply);
      const tokens = tokenization.tokenize(asked, caller, { signal });
      return tokenizedBody(await mapErrors(tokens, (error) => endedFor(error, signal)));
    },
  );
  on(
    "POST /detokenize",
    {
      summary: "Say which text tokens are",
      documented: { body: detokenizeSchema },
      answer: "The text.",
      json: detokenizedSchema,
    },
    async ({ caller, request, reply }) => {
      const { request: asked, ignored } = await bodies.read("detokenization", request);
      nameIgnored(reply, ignored);
      const signal = abandonedSignal(reply);
      const text = tokenization.detokenize(asked, caller, { signal });
      return { prompt: await mapErrors(text, (error) => endedFor(error, signal)) };
    },
  );
}
