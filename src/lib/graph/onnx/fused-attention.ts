// Lowers attention to the runtime's fused kernel, which needs head sizes that are multiples of 8. Heads of another size
// get zeros at their end, which change no score.
import type { OpAttributes } from "../graph.ts";
import { CONTRIB_DOMAIN, dataTypeNumbers, type OnnxModelWriter } from "./onnx-model.ts";

const sizeUnit = 8;

interface AttentionSizes {
  readonly headSize: number;
  /** Names of two int64 [1] values: the length of each row including its past, and the number of rows. */
  readonly length: string;
  readonly rows: string;
}

/**
 * Adds attention for rows that all have the same length, including their past.
 *
 * @param operands q, k, v, the past keys and values, and the sinks; "" for those that are absent
 * @param lowering `results` are the names of the attention, and of all keys and values; "" for unused ones
 */
export function fusedAttention(
  operands: readonly string[],
  options: OpAttributes["causalAttention"] & AttentionSizes,
  { model, results }: { readonly model: OnnxModelWriter; readonly results: readonly string[] },
): void {
  const { queryHeads, kvHeads, scale, window, headSize, length, rows } = options;
  // The kernel expects the last valid position, which is the length minus one.
  const last = model.node("Sub", [length, model.constant("int64", [1], [1])]);
  const int32 = { attributes: { to: dataTypeNumbers.int32 } };
  const rowLengths = model.node("Cast", [model.node("Expand", [last, rows])], int32);
  const total = model.node("Cast", [model.node("Squeeze", [length])], int32);
  const heads = new PaddedHeads(model, headSize);
  const [q = "", k = "", v = "", pastKeys = "", pastValues = "", sinks = ""] = operands;
  const padded = [
    heads.widen(q, queryHeads),
    heads.widen(k, kvHeads),
    heads.widen(v, kvHeads),
    heads.pad(pastKeys),
    heads.pad(pastValues),
  ];
  // The kernel always returns three results (the attention, and all keys and values), so unused ones need names too.
  const names = [0, 1, 2].map((index) => {
    const name = results[index] || `%unused ${index} of ${results[0]}`;
    return heads.padding === 0 ? name : `%padded ${name}`;
  });
  // The sinks come after four operands that are absent here.
  const others = sinks === "" ? [] : ["", "", "", "", sinks];
  model.node("GroupQueryAttention", [...padded, rowLengths, total, ...others], {
    domain: CONTRIB_DOMAIN,
    attributes: {
      num_heads: queryHeads,
      kv_num_heads: kvHeads,
      scale: { float: scale },
      // The kernel's window includes the position itself, like Hone's; -1 means unlimited.
      local_window_size: window === 0 ? -1 : window,
    },
    outputs: names,
  });
  if (heads.padding === 0) return;
  const [attention = "", keys = "", values = ""] = results;
  heads.narrow(names[0], queryHeads, attention);
  for (const [index, name] of [keys, values].entries()) if (name !== "") heads.cut(names[index + 1], name);
}

class PaddedHeads {
  /** Number of zeros after each head. */
  readonly padding: number;
  readonly #model: OnnxModelWriter;
  readonly #headSize: number;

  constructor(model: OnnxModelWriter, headSize: number) {
    this.#model = model;
    this.#headSize = headSize;
    this.padding = (sizeUnit - (headSize % sizeUnit)) % sizeUnit;
  }

  /** Pads each head of [B, T, heads * K]. */
  widen(x: string, heads: number): string {
    if (this.padding === 0) return x;
    const split = this.#reshape(x, [0, 0, heads, this.#headSize]);
    return this.#reshape(this.pad(split), [0, 0, heads * (this.#headSize + this.padding)]);
  }

  /** Pads the last axis of a tensor of rank 4. Returns "" unchanged. */
  pad(x: string): string {
    if (this.padding === 0 || x === "") return x;
    const pads = this.#model.constant("int64", [8], [0, 0, 0, 0, 0, 0, 0, this.padding]);
    return this.#model.node("Pad", [x, pads]);
  }

  /** Reverses {@link widen}. */
  narrow(x: string, heads: number, result: string): void {
    const split = this.#reshape(x, [0, 0, heads, this.#headSize + this.padding]);
    this.#reshape(this.cut(split), [0, 0, heads * this.#headSize], result);
  }

  /** Reverses {@link pad}. */
  cut(x: string, result?: string): string {
    const bounds = [0, this.#headSize, 3].map((value) => this.#model.constant("int64", [1], [value]));
    return this.#model.node("Slice", [x, ...bounds], result === undefined ? {} : { outputs: [result] });
  }

  #reshape(x: string, shape: readonly number[], result?: string): string {
    const target = this.#model.constant("int64", [shape.length], shape);
    return this.#model.node("Reshape", [x, target], result === undefined ? {} : { outputs: [result] });
  }
}
