// POST /v1/embeddings: reads its requests and writes its answers.
import type { FastifyInstance } from "fastify";
import { embeddingForm, embeddingPaths } from "../../../wire/embeddings/embedding-request.ts";
import { embeddingsBody, embeddingsSchema } from "../../../wire/embeddings/embedding-response.ts";
import { locate } from "../../../wire/field-paths.ts";
import { answerBytes, sendAnswer } from "../../bodies/write-answer.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { writeStandings } from "../../limits/admission.ts";
import { toAbortReason, mapErrors } from "../../request-lifecycle.ts";
import { abandonedSignal } from "../../request-scope.ts";
import type { Answering } from "../answer-chat.ts";

export function embeddingRoute(
  app: FastifyInstance,
  { embeddings, settings }: HttpDependencies,
  { bodies, budget }: Answering,
): void {
  endpoints(app, { tag: "chat", scheme: "bearer" })(
    "POST /v1/embeddings",
    {
      summary: "Create embeddings",
      description:
        "An embedding is the model's hidden state of the last layer at the input's last token, after the final norm, scaled to length 1. The same input always gets a bit-identical embedding, regardless of the other inputs. Each version of a trained model has its own embeddings.",
      body: bodies.form("embedding", embeddingForm),
      answer: "One embedding per input.",
      json: embeddingsSchema,
      options: { bodyLimit: settings.chatBodyBytes },
    },
    async ({ body: read, caller, request, reply }) => {
      const signal = abandonedSignal(reply);
      const located = (error: unknown, input: number | null): unknown =>
        locate(toAbortReason(error, signal), embeddingPaths(read.isList, input));
      const { allowance } = request;
      const embedded = embeddings.embed(read.request, caller, { signal, allowance, located });
      const result = await mapErrors(embedded, (error) => located(error, null));
      writeStandings(request, reply);
      return sendAnswer(reply, embeddingsBody(result, read, answerBytes(reply, budget)), settings);
    },
  );
}
