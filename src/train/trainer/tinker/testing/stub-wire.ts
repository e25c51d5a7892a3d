// For tests: the server side of both encodings, JSON and protocol buffers. Decodes the data of requests, and encodes
// results.
import { bytesField, fieldsOf, numberField, textField } from "../wire/protobuf.ts";

export interface ReceivedDatum {
  readonly tokens: readonly number[];
  /** One value per target for each input of the loss, by the input's name. */
  readonly inputs: Readonly<Record<string, readonly number[]>>;
}

export interface ReceivedRequest {
  readonly modelId: string;
  readonly seqId: number;
  readonly loss: string;
  readonly isForwardOnly: boolean;
  readonly data: readonly ReceivedDatum[];
}

/** Decodes the protocol buffer message ForwardBackwardRequest. */
export function readProtobuf(message: Uint8Array): ReceivedRequest {
  const number = (field: number): number =>
    [...fieldsOf(message)].find((each) => each.number === field)?.value ?? 0;
  return {
    modelId: textOf(message, 1),
    seqId: number(2),
    loss: textOf(message, 4),
    isForwardOnly: number(6) === 1,
    data: all(message, 3).map(readDatum),
  };
}

function readDatum(datum: Uint8Array): ReceivedDatum {
  const tokens = all(datum, 1).flatMap((chunk) => {
    const bytes = first(first(chunk, 1), 1);
    return Array.from({ length: bytes.length / 4 }, (_, at) => Buffer.from(bytes).readInt32LE(4 * at));
  });
  const inputs = all(datum, 2).map((entry) => [textOf(entry, 1), readTensor(first(entry, 2))] as const);
  return { tokens, inputs: Object.fromEntries(inputs) };
}

function readTensor(tensor: Uint8Array): readonly number[] {
  const bytes = Buffer.from(first(tensor, 1));
  const isFloat = [...fieldsOf(tensor)].find(({ number }) => number === 3)?.value === 1;
  const size = isFloat ? 4 : 8;
  return Array.from({ length: bytes.length / size }, (_, at) =>
    isFloat ? bytes.readFloatLE(4 * at) : Number(bytes.readBigInt64LE(8 * at)),
  );
}

/** Encodes log-probabilities as the protocol buffer message ForwardBackwardOutput. */
export function writeProtobuf(logprobs: readonly Float32Array[]): Uint8Array {
  const ends = logprobs.map((_, row) =>
    logprobs.slice(0, row + 1).reduce((sum, { length }) => sum + 4 * length, 0),
  );
  const data = Buffer.concat(logprobs.map((values) => Buffer.from(Float32Array.from(values).buffer)));
  const offsets = Buffer.from(BigInt64Array.from([0, ...ends], BigInt).buffer);
  const batched = Buffer.concat([bytesField(1, data), bytesField(2, offsets), numberField(3, 1)]);
  const entry = Buffer.concat([textField(1, "logprobs"), bytesField(2, batched)]);
  const record = Buffer.concat([bytesField(2, entry), numberField(3, logprobs.length)]);
  return Buffer.concat([textField(1, "scalar"), bytesField(2, record)]);
}

interface JsonDatum {
  readonly model_input: { readonly chunks: readonly { readonly tokens: readonly number[] }[] };
  readonly loss_fn_inputs: Readonly<Record<string, { readonly data: readonly number[] }>>;
}

interface JsonInput {
  readonly loss_fn: string;
  readonly data: readonly JsonDatum[];
}

export interface JsonRequest {
  readonly model_id: string;
  readonly seq_id: number;
  readonly forward_input?: JsonInput;
  readonly forward_backward_input?: JsonInput;
}

export function readJson(body: JsonRequest): ReceivedRequest {
  const input = body.forward_input ?? body.forward_backward_input;
  if (input === undefined) throw new Error("field required: forward_backward_input");
  return {
    modelId: body.model_id,
    seqId: body.seq_id,
    loss: input.loss_fn,
    isForwardOnly: body.forward_input !== undefined,
    data: input.data.map(({ model_input: { chunks }, loss_fn_inputs: inputs }) => ({
      tokens: chunks.flatMap(({ tokens }) => tokens),
      inputs: Object.fromEntries(Object.entries(inputs).map(([name, { data }]) => [name, data])),
    })),
  };
}

export function writeJson(logprobs: readonly Float32Array[]): unknown {
  const tensor = (values: Float32Array): unknown => ({
    data: [...values],
    dtype: "float32",
    shape: [values.length],
  });
  return {
    loss_fn_output_type: "scalar",
    loss_fn_outputs: logprobs.map((values) => ({ logprobs: tensor(values) })),
    metrics: {},
  };
}

function all(message: Uint8Array, field: number): readonly Uint8Array[] {
  return [...fieldsOf(message)].filter(({ number }) => number === field).map(({ bytes }) => bytes);
}

function first(message: Uint8Array, field: number): Uint8Array {
  return all(message, field)[0] ?? new Uint8Array();
}

function textOf(message: Uint8Array, field: number): string {
  return Buffer.from(first(message, field)).toString();
}
