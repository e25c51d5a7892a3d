// Encodes the results of forward passes and gradients, and of samples, for clients of the API.
import { bytesField, doubleField, numberField, textField } from "./protobuf.ts";

/** Result of a forward pass or a gradient. */
export interface ComputedResult {
  /** Log-probability of each target, one array per datum. */
  readonly logprobs: readonly Float32Array[];
  /** Metrics by name. A name ends with the way to combine several results, such as `loss:sum`. */
  readonly metrics: Readonly<Record<string, number>>;
}

const outputType = "ArrayRecord";

/** Encodes a result as the protocol buffer message ForwardBackwardOutput. */
export function writeProtobuf({ logprobs, metrics }: ComputedResult): Uint8Array {
  const ends: number[] = [];
  let end = 0;
  for (const { byteLength } of logprobs) ends.push((end += byteLength));
  const data = Buffer.concat(logprobs.map(bytesOf));
  const offsets = bytesOf(BigInt64Array.from([0, ...ends], BigInt));
  const batched = Buffer.concat([bytesField(1, data), bytesField(2, offsets), numberField(3, 1)]);
  const entry = Buffer.concat([textField(1, "logprobs"), bytesField(2, batched)]);
  const record = Buffer.concat([bytesField(2, entry), numberField(3, logprobs.length)]);
  const measured = Object.entries(metrics).map(([name, value]) =>
    bytesField(3, Buffer.concat([textField(1, name), doubleField(2, value)])),
  );
  return Buffer.concat([textField(1, outputType), bytesField(2, record), ...measured]);
}

export function writeJson({ logprobs, metrics }: ComputedResult): object {
  return {
    loss_fn_output_type: outputType,
    loss_fn_outputs: logprobs.map((values) => ({
      logprobs: { data: [...values], dtype: "float32", shape: [values.length] },
    })),
    metrics,
  };
}

/** Returns the bytes of an array, which are little-endian on all machines that run Hone. */
export function bytesOf(values: Float32Array | Int32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
