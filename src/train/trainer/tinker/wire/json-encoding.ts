// The JSON encoding of requests and results, for servers that do not support protocol buffers.
import type { Datum, Encoding } from "./encoding.ts";
import { jsonType } from "./encoding.ts";

export const jsonEncoding: Encoding = {
  accept: jsonType,
  datum: (datum) => Buffer.from(JSON.stringify(datumOf(datum))),
  request: ({ modelId, seqId, loss, isForwardOnly }, data) => {
    const name = isForwardOnly ? "forward" : "forward_backward";
    const head = JSON.stringify({ model_id: modelId, seq_id: seqId }).slice(0, -1);
    const input = `{"loss_fn":${JSON.stringify(loss)},"loss_fn_config":null,"data":[`;
    const joined = data.flatMap((datum, index) => (index === 0 ? [datum] : [Buffer.from(","), datum]));
    const body = [Buffer.from(`${head},"${name}_input":${input}`), ...joined, Buffer.from("]}}")];
    return { path: name, contentType: jsonType, body: Buffer.concat(body) };
  },
};

function datumOf({ inputs, targets, weights, loss }: Datum): unknown {
  const named = { weights, ...loss };
  const floats = Object.entries(named).map(([name, values]) => [name, tensor(values, "float32")]);
  return {
    model_input: { chunks: [{ type: "encoded_text", tokens: [...inputs] }] },
    loss_fn_inputs: { target_tokens: tensor(targets, "int64"), ...Object.fromEntries(floats) },
  };
}

function tensor(values: Int32Array | Float32Array, dtype: string): unknown {
  return { data: [...values], dtype, shape: [values.length] };
}

interface LogprobOutput {
  readonly logprobs?: { readonly data?: readonly (number | null)[] };
}

/**
 * Reads the log-probabilities from a result, one array per datum.
 *
 * @throws Error if the result contains no log-probabilities
 */
export function logprobsOfJson(result: unknown): readonly Float32Array[] {
  const outputs = (result as { readonly loss_fn_outputs?: readonly LogprobOutput[] } | null)?.loss_fn_outputs;
  if (!Array.isArray(outputs)) throw new Error("a result has no loss_fn_outputs");
  return (outputs as readonly LogprobOutput[]).map(({ logprobs }) => {
    if (!Array.isArray(logprobs?.data)) throw new Error("a result has no logprobs");
    return Float32Array.from(logprobs.data as readonly unknown[], (value) => {
      // Servers send NaN as null, because JSON has no NaN.
      if (value === null) return NaN;
      if (typeof value !== "number") throw new Error("a log-probability of a result is not a number");
      return value;
    });
  });
}
