// The route of the Tinker API that fetches the result of an operation. It waits for the result for a while, and then
// asks the client to poll again.
import type { FastifyInstance } from "fastify";
import { protobufType } from "../../../train/trainer/tinker/wire/encoding.ts";
import {
  failureAnswer,
  futureAnswerSchema,
  futureForm,
  pendingAnswer,
  resultAnswer,
} from "../../wire/tinker/future-bodies.ts";
import { answered } from "../documentation/document-routes.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { HttpRefusal } from "../errors.ts";
import { abandonedSignal } from "../request-scope.ts";
import { tinkerEndpoints } from "./tinker-endpoints.ts";

const answer = "The result.";

export function futureRoute(app: FastifyInstance, { sessions, logger }: HttpDependencies): void {
  tinkerEndpoints(app)(
    "POST /api/v1/retrieve_future",
    {
      summary: "Fetch the result of an operation",
      description:
        "Waits for the result for up to 25 seconds. Gradients and samples are protocol buffers if the client accepts them.",
      body: futureForm,
      answer,
      documented: {
        response: {
          ...answered(answer, { json: futureAnswerSchema, protobuf: { type: "string", format: "binary" } }),
          408: { description: "The operation is in progress; poll again.", ...futureAnswerSchema },
        },
      },
    },
    async ({ body: { request_id: id }, caller, request, reply }) => {
      const signal = abandonedSignal(reply);
      const state = await sessions.futures.wait(caller.entity, id, { waitMs: sessions.pollMs, signal });
      if (state === null) throw unknownFuture(id);
      if (state.kind === "pending") return reply.code(408).send(pendingAnswer(id, state.reason));
      if (state.kind === "failed") {
        const { error } = state;
        if (error.code === "internal")
          logger.error({ requestId: request.id, err: error }, "an operation of a session failed");
        return failureAnswer(error);
      }
      const takesProtobuf = request.headers.accept?.includes(protobufType) === true;
      const result = resultAnswer(state.result, takesProtobuf);
      if (result.kind === "json") return result.json;
      return reply.type(protobufType).send(Buffer.from(result.bytes));
    },
  );
}

/**
 * Returns the refusal of an unknown future. The status is 410 for a sample, because clients then sample again. It is
 * 404 for training, which clients cannot repeat.
 */
function unknownFuture(id: string): HttpRefusal {
  const isSample = id.startsWith("sample-");
  const message =
    "There is no result of this operation: the server was restarted, or the result was not fetched in time. " +
    (isSample
      ? "Sample again."
      : "If the model is no longer in training, create a training client from the last saved weights.");
  return new HttpRefusal({
    status: isSample ? 410 : 404,
    code: "not_found",
    faults: [{ location: ["body", "request_id"], message, type: "not_found" }],
  });
}
