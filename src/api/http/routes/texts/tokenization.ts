// POST /tokenize and /detokenize. The first tokenizes a prompt as a chat request would, without generating an answer;
// the second converts token ids to text.
import type { FastifyInstance } from "fastify";
import { detokenizeForm, tokenizationPaths, tokenizeForm } from "../../../wire/tokenize/read-tokenization.ts";
import {
  detokenizedSchema,
  tokenizedBody,
  tokenizedSchema,
} from "../../../wire/tokenize/tokenize-schemas.ts";
import type { BodyReader } from "../../bodies/body-reader.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { untilDisconnected } from "../../request-lifecycle.ts";
import { abandonedSignal } from "../../request-scope.ts";

export function tokenizationRoutes(
  app: FastifyInstance,
  { tokenization, settings }: HttpDependencies,
  bodies: BodyReader,
): void {
  const options = { bodyLimit: settings.chatBodyBytes };
  const on = endpoints(app, { tag: "chat", scheme: "bearer", fieldPaths: tokenizationPaths, options });
  on(
    "POST /tokenize",
    {
      summary: "Tokenize a text or a conversation",
      body: bodies.form("tokenization", tokenizeForm),
      answer: "The tokens.",
      json: tokenizedSchema,
    },
    async ({ body: { request: asked }, caller, reply }) => {
      const signal = abandonedSignal(reply);
      const tokens = tokenization.tokenize(asked, caller, { signal });
      return tokenizedBody(await untilDisconnected(tokens, signal));
    },
  );
  on(
    "POST /detokenize",
    {
      summary: "Convert tokens to text",
      body: bodies.form("detokenization", detokenizeForm),
      answer: "The text.",
      json: detokenizedSchema,
    },
    async ({ body: { request: asked }, caller, reply }) => {
      const signal = abandonedSignal(reply);
      const text = tokenization.detokenize(asked, caller, { signal });
      return { prompt: await untilDisconnected(text, signal) };
    },
  );
}
