// Decodes requests for a forward pass or a gradient. The server side of the encodings in this folder: it checks the
// form of the bytes, but not the meaning of the values.
import { BinaryReader } from "../../../../lib/protobuf/wire.ts";
import { WireMessage } from "./protobuf.ts";

/** A tensor of one or two dimensions, in row-major order. Sparse tensors are not decoded. */
export interface ReceivedTensor {
  readonly values: Float32Array | Int32Array;
  /** Empty if the client does not state the shape; the tensor then has one dimension. */
  readonly shape: readonly number[];
  readonly isSparse: boolean;
}

export interface ReceivedDatum {
  readonly tokens: Int32Array;
  /** Names of the kinds of input that are not text, such as `image`. */
  readonly otherChunks: readonly string[];
  /** Inputs of the loss by name. */
  readonly inputs: ReadonlyMap<string, ReceivedTensor>;
}

export interface ReceivedRequest {
  readonly modelId: string;
  /** Sequence number among the operations on the model; 0 if the client gives none. */
  readonly seqId: number;
  readonly loss: string;
  readonly config: Readonly<Record<string, number | string>>;
  readonly isForwardOnly: boolean;
  readonly data: readonly ReceivedDatum[];
}

/** Numbers of the constants in the protocol buffer enumeration DType. */
const dtypes = { float32: 1, int64: 2, int32: 3 } as const;

/**
 * Decodes the protocol buffer message ForwardBackwardRequest.
 *
 * @throws Error if the bytes are not such a message
 */
export function readProtobuf(bytes: Uint8Array): ReceivedRequest {
  const message = new WireMessage(bytes);
  return {
    modelId: message.text(1),
    seqId: message.number(2),
    loss: message.text(4),
    // Clients write numbers into both maps; texts exist only in the second.
    config: { ...configOf(message, 5), ...configOf(message, 7) },
    isForwardOnly: message.number(6) === 1,
    data: message.all(3).map(readDatum),
  };
}

function configOf(message: WireMessage, field: 5 | 7): Readonly<Record<string, number | string>> {
  const entries = message.all(field).map((bytes) => {
    const entry = new WireMessage(bytes);
    if (field === 5) return [entry.text(1), entry.number(2)] as const;
    const value = new WireMessage(entry.bytes(2));
    return [entry.text(1), value.has(2) ? value.text(2) : value.number(1)] as const;
  });
  return Object.fromEntries(entries);
}

/** The kinds of input that are not text: the number of the kind's field in the message Chunk, and its name. */
const chunkKinds: readonly (readonly [field: number, name: string])[] = [
  [2, "image"],
  [3, "dmel"],
];

function readDatum(bytes: Uint8Array): ReceivedDatum {
  const datum = new WireMessage(bytes);
  const chunks = datum.all(1).map((chunk) => new WireMessage(chunk));
  const texts = chunks.map((chunk) => integers(new WireMessage(chunk.bytes(1)).bytes(1), "int32"));
  const inputs = datum.all(2).map((each) => {
    const entry = new WireMessage(each);
    return [entry.text(1), readTensor(entry.bytes(2))] as const;
  });
  return {
    tokens: joined(texts),
    otherChunks: chunks.flatMap((chunk) =>
      chunkKinds.filter(([field]) => chunk.has(field)).map(([, name]) => name),
    ),
    inputs: new Map(inputs),
  };
}

function readTensor(bytes: Uint8Array): ReceivedTensor {
  const tensor = new WireMessage(bytes);
  const dense = tensor.bytes(1);
  const dtype = tensor.number(3);
  const values =
    dtype === dtypes.float32
      ? new Float32Array(aligned(dense, 4))
      : integers(dense, dtype === dtypes.int32 ? "int32" : "int64");
  return { values, shape: varintsOf(tensor.bytes(4)), isSparse: tensor.has(2) };
}

/** Decodes little-endian integers. Numbers beyond 32 bits become -1, which is no token. */
function integers(bytes: Uint8Array, dtype: "int32" | "int64"): Int32Array {
  if (dtype === "int32") return new Int32Array(aligned(bytes, 4));
  const words = new Int32Array(aligned(bytes, 8));
  return Int32Array.from({ length: words.length / 2 }, (_, at) => {
    const [low, high] = [words[2 * at], words[2 * at + 1]];
    return high === (low < 0 ? -1 : 0) ? low : -1;
  });
}

/** Copies the bytes, because the numbers of an array must be aligned in memory. */
function aligned(bytes: Uint8Array, size: number): ArrayBuffer {
  if (bytes.length % size !== 0)
    throw new Error(`an array has ${bytes.length} bytes, no multiple of ${size}`);
  return Uint8Array.from(bytes).buffer;
}

function joined(parts: readonly Int32Array[]): Int32Array {
  if (parts.length === 1) return parts[0];
  const whole = new Int32Array(parts.reduce((count, { length }) => count + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function varintsOf(bytes: Uint8Array): readonly number[] {
  const reader = new BinaryReader(bytes);
  const values: number[] = [];
  while (reader.pos < bytes.length) values.push(Number(reader.uint64()));
  return values;
}
