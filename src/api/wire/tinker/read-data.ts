// Reads the data of requests for a forward pass or a gradient, in either encoding. Checks everything that the trainer
// relies on: shapes, names and finite values.
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { type JsonLimits, parseJsonBody } from "../../../base/validation/json-body.ts";
import {
  lossInputs,
  type LossName,
  lossNames,
  resolveLoss,
  type SessionLoss,
} from "../../../train/sessions/process/losses.ts";
import type { SessionDatum } from "../../../train/sessions/process/protocol.ts";
import { type JsonRequest, readJson } from "../../../train/trainer/tinker/wire/read-json-request.ts";
import {
  type ReceivedDatum,
  type ReceivedRequest,
  readProtobuf,
} from "../../../train/trainer/tinker/wire/read-request.ts";
import { readForm } from "../body.ts";
import { computeForm } from "./compute-body.ts";

export interface ComputeRequest {
  readonly received: ReceivedRequest;
  /** Names of the fields in a JSON body that have no effect. */
  readonly ignored: readonly string[];
}

/** Checked data of a request. */
export interface ComputeData {
  readonly isForwardOnly: boolean;
  readonly loss: SessionLoss;
  readonly data: readonly SessionDatum[];
}

/** Maximum number of sequences in one request, as in the client. */
const dataMax = 1024;

/**
 * Decodes a request, whose data {@link readComputeData} checks.
 *
 * @throws ServiceError `invalid` with the fault
 */
export function readCompute(
  bytes: Buffer,
  { isProtobuf, json }: { readonly isProtobuf: boolean; readonly json: JsonLimits },
): ComputeRequest {
  return isProtobuf ? { received: decoded(bytes), ignored: [] } : readJsonBody(bytes, json);
}

/**
 * @param isForward true for the route that only computes a forward pass
 * @throws ServiceError `invalid` with the fault; `unsupported` for images, sparse tensors and unknown losses
 */
export function readComputeData(received: ReceivedRequest, isForward: boolean): ComputeData {
  const { config, data } = received;
  if (data.length === 0) throw invalid("data is empty; send at least one datum.");
  if (data.length > dataMax)
    throw invalid(
      `data has ${data.length} items; at most ${dataMax} are allowed. Send them in several requests.`,
    );
  const name = lossOf(received.loss);
  const loss = resolveLoss(name, config);
  return {
    isForwardOnly: isForward || received.isForwardOnly,
    loss,
    data: data.map((datum, row) => readDatum(datum, name, `Datum ${row}`)),
  };
}

function decoded(bytes: Buffer): ReceivedRequest {
  try {
    return readProtobuf(bytes);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceError({
      code: "invalid",
      message: `The body is no ForwardBackwardRequest: ${why}.`,
      cause,
    });
  }
}

function readJsonBody(bytes: Buffer, json: JsonLimits): ComputeRequest {
  const { value, ignored } = readForm(computeForm, parseJsonBody(bytes, json));
  // Safe cast: the schema also checks the members of objects that allow arbitrary names; only its type does not show
  // this.
  return { received: readJson(value as JsonRequest), ignored };
}

function lossOf(name: string): LossName {
  const known = lossNames.find((each) => each === name);
  if (known !== undefined) return known;
  throw new ServiceError({
    code: "unsupported",
    message: `The loss ${JSON.stringify(name)} is not supported; this server has ${lossNames.join(", ")}, and custom losses that the client computes.`,
  });
}

function readDatum(
  { tokens, otherChunks, inputs }: ReceivedDatum,
  loss: LossName,
  what: string,
): SessionDatum {
  if (otherChunks.length > 0)
    throw new ServiceError({
      code: "unsupported",
      message: `${what} has an input of the kind ${otherChunks[0]}; this server trains on tokens only.`,
    });
  const count = tokens.length;
  const targets = inputs.get("target_tokens");
  if (targets === undefined) throw invalid(`${what} has no target_tokens in loss_fn_inputs.`);
  if (count === 0) throw invalid(`${what} has no tokens.`);
  const names = lossInputs[loss];
  for (const [name, { isSparse, shape, values }] of inputs) {
    if (name !== "target_tokens" && !names.includes(name))
      throw invalid(
        `${what} has ${name} in loss_fn_inputs, which the loss ${loss} does not take; leave it out.`,
      );
    if (isSparse || shape.length > 1)
      throw new ServiceError({
        code: "unsupported",
        message: `${what} has ${name} of ${isSparse ? "sparse" : `${shape.length} dimensions`}; this server takes one target for each token, as a list.`,
      });
    if (values.length !== count)
      throw invalid(
        `${what} has ${count} tokens, but ${values.length} values of ${name}; give one for each token.`,
      );
  }
  return {
    tokens,
    targets: Int32Array.from(targets.values),
    inputs: Object.fromEntries(names.map((name) => [name, floatsOf(inputs, name, what)])),
  };
}

function floatsOf(inputs: ReceivedDatum["inputs"], name: string, what: string): Float32Array {
  const values = inputs.get(name)?.values;
  if (values === undefined) throw invalid(`${what} has no ${name} in loss_fn_inputs, which the loss needs.`);
  const wrong = values.findIndex((value) => !Number.isFinite(value));
  if (wrong >= 0)
    throw invalid(
      `${what} has the value ${values[wrong]} of ${name} at position ${wrong}; it must be finite.`,
    );
  return Float32Array.from(values);
}
