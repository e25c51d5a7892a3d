// Bodies and answers of the Tinker API's route that fetches the result of an operation.
import { Type } from "typebox";
import { unreachable } from "../../../base/domain/assert.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";
import type { SessionResult } from "../../../train/sessions/results.ts";
import { writeJson, writeProtobuf } from "../../../train/trainer/tinker/wire/write-result.ts";
import type { BodyForm } from "../body.ts";

const futureSchema = Type.Object(
  {
    request_id: Type.String({ maxLength: 256, description: "Id of the operation." }),
    allow_metadata_only: Type.Optional(
      Type.Boolean({ description: "Accepted; the result is always complete." }),
    ),
  },
  { title: "TinkerRetrieveFuture" },
);
export const futureForm: BodyForm<typeof futureSchema> = { schema: futureSchema };
export const futureAnswerSchema = Type.Object(
  {},
  {
    additionalProperties: true,
    description: "Result of the operation, whose fields depend on the operation, or `error` and `category`.",
  },
);

/** A result as JSON, or as bytes of a protocol buffer message. */
export type FutureAnswer =
  | { readonly kind: "json"; readonly json: object }
  | { readonly kind: "protobuf"; readonly bytes: Uint8Array };

/** @param takesProtobuf true if the client accepts results as protocol buffers */
export function resultAnswer(result: SessionResult, takesProtobuf: boolean): FutureAnswer {
  const json = (body: object): FutureAnswer => ({ kind: "json", json: body });
  switch (result.kind) {
    case "created":
      return json({ type: "create_model", model_id: result.modelId });
    case "loaded":
      return json({ type: "load_weights", path: result.path, model_id: result.modelId });
    case "stepped":
      return json({ metrics: result.metrics });
    case "saved":
      return json({
        type: result.weights === "weights" ? "save_weights" : "save_weights_external",
        path: result.path,
      });
    case "saved-for-sampling":
      return json({
        type: "save_weights_for_sampler",
        path: result.path,
        sampling_session_id: result.samplerId,
      });
    case "unloaded":
      return json({ type: "unload_model", model_id: result.modelId });
    case "sampled":
      return { kind: "protobuf", bytes: result.bytes };
    case "computed":
      return takesProtobuf
        ? { kind: "protobuf", bytes: writeProtobuf(result.computed) }
        : json(writeJson(result.computed));
    default:
      return unreachable(result);
  }
}

/** Codes of errors that the client caused. All other errors count as errors of the server. */
const userCodes: readonly ServiceError["code"][] = [
  "invalid",
  "unsupported",
  "not_found",
  "conflict",
  "forbidden",
];

export function failureAnswer({ code, message }: ServiceError) {
  const isShown = code !== "internal";
  return {
    error: isShown ? message : "The operation failed; the server's log says why.",
    category: userCodes.includes(code) ? "user" : "server",
  };
}

/** Returns the body that asks the client to poll again. */
export function pendingAnswer(requestId: string, reason: string | null) {
  return {
    type: "try_again",
    request_id: requestId,
    queue_state: reason === null ? "active" : "paused_capacity",
    queue_state_reason: reason,
  };
}
