// Decodes the JSON form of requests for a forward pass or a gradient. Clients older than August 2026 send this form.
import type { ReceivedDatum, ReceivedRequest, ReceivedTensor } from "./read-request.ts";

export interface JsonTensor {
  readonly data: readonly number[];
  readonly dtype?: string;
  readonly shape?: readonly number[] | null;
  readonly sparse_crow_indices?: readonly number[] | null;
}

export interface JsonDatum {
  readonly model_input: {
    readonly chunks: readonly { readonly type?: string; readonly tokens?: readonly number[] }[];
  };
  readonly loss_fn_inputs: Readonly<Record<string, JsonTensor>>;
}

export interface JsonInput {
  readonly loss_fn: string;
  readonly loss_fn_config?: Readonly<Record<string, number | string>> | null;
  readonly data: readonly JsonDatum[];
}

export interface JsonRequest {
  readonly model_id: string;
  readonly seq_id?: number | null;
  /** Present if only a forward pass is requested. */
  readonly forward_input?: JsonInput | null;
  readonly forward_backward_input?: JsonInput | null;
}

/** @throws Error if the body has no data */
export function readJson(body: JsonRequest): ReceivedRequest {
  const input = body.forward_input ?? body.forward_backward_input;
  if (input === undefined || input === null) throw new Error("field required: forward_backward_input");
  return {
    modelId: body.model_id,
    seqId: body.seq_id ?? 0,
    loss: input.loss_fn,
    config: input.loss_fn_config ?? {},
    isForwardOnly: (body.forward_input ?? null) !== null,
    data: input.data.map(readDatum),
  };
}

function readDatum({ model_input: { chunks }, loss_fn_inputs: inputs }: JsonDatum): ReceivedDatum {
  return {
    tokens: Int32Array.from(chunks.flatMap(({ tokens = [] }) => tokens)),
    otherChunks: chunks.flatMap(({ type = "encoded_text" }) => (type === "encoded_text" ? [] : [type])),
    inputs: new Map(Object.entries(inputs).map(([name, tensor]) => [name, readTensor(name, tensor)])),
  };
}

function readTensor(
  name: string,
  { data, dtype, shape, sparse_crow_indices: rows }: JsonTensor,
): ReceivedTensor {
  const isInteger = dtype === "int64" || (dtype === undefined && name === "target_tokens");
  return {
    values: isInteger ? Int32Array.from(data) : Float32Array.from(data),
    shape: shape ?? [],
    isSparse: rows !== undefined && rows !== null,
  };
}
