// The protocol buffer encoding, with messages of the package `tinker_public` for requests to forward_backward and for
// their results.
import type { Datum, Encoding, ForwardBackwardRequest } from "./encoding.ts";
import { protobufType } from "./encoding.ts";
import { bytesField, numberField, textField, varint, WireMessage } from "./protobuf.ts";
import { bytesOf } from "./write-result.ts";

/** Numbers of the constants in the protocol buffer enumeration DType. */
const dtypes = { float32: 1, int64: 2 } as const;

export const protobufEncoding: Encoding = {
  accept: protobufType,
  datum: encodeDatum,
  request: (request, data) => ({
    path: "forward_backward",
    contentType: protobufType,
    body: Buffer.concat([
      ...beginning(request),
      ...data.map((datum) => bytesField(3, datum)),
      ...end(request),
    ]),
  }),
};

function beginning({ modelId, seqId }: ForwardBackwardRequest): readonly Uint8Array[] {
  return [textField(1, modelId), numberField(2, seqId)];
}

function end({ loss, isForwardOnly }: ForwardBackwardRequest): readonly Uint8Array[] {
  return [textField(4, loss), ...(isForwardOnly ? [numberField(6, 1)] : [])];
}

function encodeDatum({ inputs, targets, weights, loss }: Datum): Uint8Array {
  const encodedText = bytesField(1, bytesOf(inputs));
  const floats = (name: string, values: Float32Array | undefined): readonly Uint8Array[] =>
    values === undefined ? [] : [lossInput(name, tensor(values, "float32"))];
  return Buffer.concat([
    bytesField(1, bytesField(1, encodedText)),
    ...floats("weights", weights),
    ...floats("logprobs", loss?.logprobs),
    lossInput("target_tokens", tensor(BigInt64Array.from(targets, BigInt), "int64")),
    ...floats("advantages", loss?.advantages),
  ]);
}

/** Encodes one input of the loss as an entry of a protocol buffer map. */
function lossInput(name: string, encodedTensor: Uint8Array): Uint8Array {
  return bytesField(2, Buffer.concat([textField(1, name), bytesField(2, encodedTensor)]));
}

function tensor(values: Float32Array | BigInt64Array, dtype: keyof typeof dtypes): Uint8Array {
  return Buffer.concat([
    bytesField(1, bytesOf(values)),
    numberField(3, dtypes[dtype]),
    bytesField(4, varint(values.length)),
  ]);
}

/**
 * Reads the log-probabilities from a ForwardBackwardOutput message, one array per datum.
 *
 * @throws Error if the bytes are not such a message
 */
export function logprobsOfProtobuf(message: Uint8Array): readonly Float32Array[] {
  const arrays: Float32Array[] = [];
  for (const record of new WireMessage(message).all(2))
    for (const field of new WireMessage(record).all(2)) {
      const entry = new WireMessage(field);
      if (entry.text(1) === "logprobs") arrays.push(...arraysOf(new WireMessage(entry.bytes(2))));
    }
  return arrays;
}

/** Decodes a BatchedTensor message of floats, which contains concatenated arrays and the offsets between them. */
function arraysOf(batched: WireMessage): readonly Float32Array[] {
  const dtype = batched.number(3);
  if (dtype !== dtypes.float32) throw new Error(`log-probabilities are of the type ${dtype}, not float32`);
  const [data, offsetBytes] = [batched.bytes(1), batched.bytes(2)];
  const view = Buffer.from(offsetBytes);
  const offsets = Array.from({ length: Math.floor(view.length / 8) }, (_, index) =>
    Number(view.readBigInt64LE(index * 8)),
  );
  return offsets.slice(1).map((end, index) => {
    const start = offsets[index];
    const isSound = start >= 0 && start <= end && end <= data.length && (end - start) % 4 === 0;
    if (!isSound) throw new Error(`log-probabilities range from byte ${start} to ${end} of ${data.length}`);
    // Copies the bytes, because the floats of an array must be aligned to four bytes.
    return new Float32Array(Uint8Array.from(data.subarray(start, end)).buffer);
  });
}
