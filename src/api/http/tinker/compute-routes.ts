// Routes of the Tinker API that compute forward passes and gradients. Their bodies are protocol buffers or JSON.
import type { FastifyInstance } from "fastify";
import { computeForm } from "../../wire/tinker/compute-body.ts";
import { promiseSchema } from "../../wire/tinker/model-bodies.ts";
import { type ComputeData, readCompute, readComputeData } from "../../wire/tinker/read-data.ts";
import type { LiveModel } from "../../../train/sessions/live-model.ts";
import { protobufType } from "../../../train/trainer/tinker/wire/encoding.ts";
import type { ReceivedRequest } from "../../../train/trainer/tinker/wire/read-request.ts";
import type { GatheredBody } from "../bodies/gather-body.ts";
import { rawBody } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { nameIgnored } from "../input/read-input.ts";
import { bodyLimits } from "../settings.ts";
import { findLive, fingerprintOf, tinkerEndpoints } from "./tinker-endpoints.ts";

export function computeRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { sessions, settings } = dependencies;
  const { json } = bodyLimits(settings);
  const on = tinkerEndpoints(app, { ...rawBody, bodyLimit: settings.chatBodyBytes });
  for (const [route, isForward, summary] of [
    ["POST /api/v1/forward", true, "Compute log-probabilities"],
    ["POST /api/v1/forward_backward", false, "Add the gradient of a loss"],
  ] as const)
    on(
      route,
      {
        summary,
        description:
          "The loss is a sum over all targets, without averaging. The body is JSON, or the protocol buffer message ForwardBackwardRequest of the client.",
        documented: { body: computeForm.schema },
        answer: "The operation, whose result to fetch later.",
        json: promiseSchema,
      },
      ({ request, caller, reply }) => {
        // Safe cast: the route is marked as one that takes the bytes of its body. The body is undefined if the request
        // has no content type.
        const { pieces } = (request.body ?? { pieces: [] }) as GatheredBody;
        const bytes = Buffer.concat(pieces);
        const isProtobuf = request.headers["content-type"]?.startsWith(protobufType) === true;
        const { received, ignored } = readCompute(bytes, { isProtobuf, json });
        nameIgnored(reply, ignored);
        const { modelId, seqId } = received;
        const live = findLive(dependencies, modelId, caller);
        const submission = { seqId, fingerprint: fingerprintOf(bytes) };
        return {
          request_id: sessions.operations.compute(live, submission, dataOf(live, received, isForward)),
          model_id: modelId,
        };
      },
    );
}

/** Checks the data of a request. If it is refused, later operations of the model do not wait for the request. */
function dataOf(live: LiveModel, received: ReceivedRequest, isForward: boolean): ComputeData {
  try {
    return readComputeData(received, isForward);
  } catch (error) {
    live.passOver(received.seqId);
    throw error;
  }
}
