// POST /api/embed and /api/embeddings: embeddings in Ollama's API, from the same service as `POST /v1/embeddings`.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Embeddings } from "../../../base/domain/text/embedding.ts";
import { embeddingPaths } from "../../wire/embeddings/embedding-request.ts";
import { locate } from "../../wire/field-paths.ts";
import { nanoseconds } from "../../wire/ollama/answer-lines.ts";
import {
  embedAnswerSchema,
  embedForm,
  embeddingsAnswerSchema,
  embeddingsForm,
  type ReadOllamaEmbed,
  toPrompt,
  vectorsOf,
} from "../../wire/ollama/embed.ts";
import { answerBytes, sendAnswer } from "../bodies/write-answer.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { writeNotices } from "../input/notices.ts";
import { writeStandings } from "../limits/admission.ts";
import { mapErrors, toAbortReason } from "../request-lifecycle.ts";
import { abandonedSignal } from "../request-scope.ts";
import type { Answering } from "../routes/answer-chat.ts";
import { ollamaAnswered } from "./answers.ts";

export function ollamaEmbedRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  { bodies, budget }: Answering,
): void {
  const { settings, clock } = dependencies;
  const on = endpoints(app, { tag: "ollama", scheme: "bearer", answered: ollamaAnswered });
  const options = { bodyLimit: settings.chatBodyBytes };
  on(
    "POST /api/embed",
    {
      summary: "Create embeddings, in Ollama's API",
      description: "Returns the embeddings of `POST /v1/embeddings`.",
      body: bodies.form("Ollama embed", embedForm),
      answer: "One embedding per text.",
      json: embedAnswerSchema,
      options,
    },
    async ({ body, request, reply }) => {
      const startedMs = clock.monotonicMs();
      const embedded = await embed(body, { request, reply }, dependencies);
      const embeddings = vectorsOf(embedded, answerBytes(reply, budget));
      const answer = {
        model: embedded.model,
        embeddings,
        total_duration: nanoseconds(clock.monotonicMs() - startedMs),
        prompt_eval_count: embedded.tokenCount,
      };
      return sendAnswer(reply, answer, settings);
    },
  );
  on(
    "POST /api/embeddings",
    {
      summary: "Create one embedding, in Ollama's older form",
      body: bodies.form("Ollama embeddings", embeddingsForm),
      answer: "The embedding.",
      json: embeddingsAnswerSchema,
      options,
    },
    async ({ body, request, reply }) => {
      const embedded = await mapErrors(embed(body, { request, reply }, dependencies), toPrompt);
      const [embedding] = vectorsOf(embedded, answerBytes(reply, budget));
      return sendAnswer(reply, { embedding }, settings);
    },
  );
}

async function embed(
  { request: asked, isList, notices }: ReadOllamaEmbed,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  { embeddings }: Pick<HttpDependencies, "embeddings">,
): Promise<Embeddings> {
  const signal = abandonedSignal(reply);
  const located = (error: unknown, input: number | null): unknown =>
    locate(toAbortReason(error, signal), embeddingPaths(isList, input));
  writeNotices(reply, notices);
  const { allowance, caller } = request;
  const embedded = embeddings.embed(asked, caller, { signal, allowance, located });
  const result = await mapErrors(embedded, (error) => located(error, null));
  writeStandings(request, reply);
  return result;
}
