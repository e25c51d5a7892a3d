/**
 * Lowers attention to a loop over blocks of queries in the model. No intermediate outlives its block, so memory grows
 * only with the sizes of operands and results.
 */
import type { OpAttributes } from "../graph.ts";
import { queriesPerBlock } from "./block-sizes.ts";
import type { OnnxModelWriter } from "./onnx-model.ts";
import { CONTRIB_DOMAIN } from "./onnx-model.ts";

/** Mask value: far below any score, but finite. */
const masked = -1e30;

/** Head size, and the name of an int64 [1] with the number of queries per row. */
export interface QueryShape {
  readonly headSize: number;
  readonly length: string;
}

type Attention = OpAttributes["blockedAttention"] & QueryShape;

/** Adds attention; returns the name of its result [B, T, Hq*K]. */
export function blockedAttention(
  model: OnnxModelWriter,
  operands: { readonly q: string; readonly k: string; readonly v: string },
  attributes: Attention,
): string {
  const blocks = new AttentionBlocks(model, operands, attributes);
  const nothing = model.node("Slice", [operands.q, blocks.int(0), blocks.int(0), blocks.int(1)]);
  const [attended = ""] = blocks.loop([nothing], (block, [before = ""]) => {
    const part = model.node("MatMul", [blocks.probabilities(block), blocks.visible(blocks.values, block)]);
    return [model.node("Concat", [before, blocks.merged(part)], { attributes: { axis: 1 } })];
  });
  return attended;
}

/** Adds the gradients of attention with respect to q, k and v; returns their names. */
export function blockedAttentionGradient(
  model: OnnxModelWriter,
  operands: Readonly<Record<"q" | "k" | "v" | "attended" | "gradient", string>>,
  attributes: Attention,
): readonly string[] {
  const blocks = new AttentionBlocks(model, operands, attributes);
  const { int } = blocks;
  const slopes = blocks.grouped(operands.gradient);
  const along = blocks.grouped(model.node("Mul", [operands.gradient, operands.attended]));
  const corrections = model.node("ReduceSum", [along, int(-1)], { attributes: { keepdims: 1 } });
  const noQueries = model.node("Slice", [operands.q, int(0), int(0), int(1)]);
  const noKeys = model.node("Slice", [blocks.keys, int(0), int(0), int(3)]);
  const [byQ = "", byKeys = "", byValues = ""] = blocks.loop([noQueries, noKeys, noKeys], (block, state) => {
    const [q = "", k = "", v = ""] = state;
    const probabilities = blocks.probabilities(block);
    const slope = blocks.rowsOf(slopes, block);
    const pulled = blocks.product(slope, blocks.visible(blocks.values, block), { transB: 1 });
    const difference = model.node("Sub", [pulled, blocks.rowsOf(corrections, block)]);
    const byScores = model.node("Mul", [probabilities, difference]);
    const { scale } = attributes;
    const queries = blocks.rowsOf(blocks.queries, block);
    const byQueries = blocks.product(byScores, blocks.visible(blocks.keys, block), {}, scale);
    const overRows = (a: string, b: string, alpha?: number): string =>
      blocks.product(blocks.ofKeyHead(a), blocks.ofKeyHead(b), { transA: 1 }, alpha);
    return [
      model.node("Concat", [q, blocks.merged(byQueries)], { attributes: { axis: 1 } }),
      blocks.added(k, overRows(byScores, queries, scale), block),
      blocks.added(v, overRows(probabilities, slope), block),
    ];
  });
  return [byQ, blocks.ungrouped(byKeys), blocks.ungrouped(byValues)];
}

/** Start, end and size of a block of queries: int64 [1] each. */
interface Block {
  readonly start: string;
  readonly end: string;
  readonly size: string;
}

/**
 * Builds the parts that attention and its gradient share: operands split into heads, and the probabilities of a block.
 * Each query head is a separate product, because two threads divide nine query heads more evenly than three key heads.
 * - Shapes: G query heads per key head, U queries of a block, E keys up to the block's end.
 */
class AttentionBlocks {
  /** Queries [B, Hkv, G, T, K]. */
  readonly queries: string;
  /** Keys [B, Hkv, 1, T, K]. */
  readonly keys: string;
  /** Values [B, Hkv, 1, T, K]. */
  readonly values: string;
  readonly #model: OnnxModelWriter;
  readonly #attributes: Attention;
  /** int64 [1]: number of blocks. */
  readonly #count: string;
  /** int64 [1]: start of the last block. */
  readonly #lastStart: string;
  /** Mask of a full last block, which is added to its scores: 0 where a query sees a key. */
  readonly #lastMask: string;

  constructor(
    model: OnnxModelWriter,
    { q, k, v }: { readonly q: string; readonly k: string; readonly v: string },
    attributes: Attention,
  ) {
    this.#model = model;
    this.#attributes = attributes;
    const size = this.int(queriesPerBlock);
    const whole = model.shared("Add", [attributes.length, this.int(queriesPerBlock - 1)]);
    this.#count = model.shared("Div", [whole, size]);
    this.#lastStart = model.shared("Mul", [model.shared("Sub", [this.#count, this.int(1)]), size]);
    this.#lastMask = this.#mask(this.#lastStart, model.shared("Add", [this.#lastStart, size]));
    this.queries = this.grouped(q);
    this.keys = this.#split(k);
    this.values = this.#split(v);
  }

  readonly int = (...values: readonly number[]): string =>
    this.#model.constant("int64", [values.length], values);

  /** Runs a body for each block of queries, in order. */
  loop(
    initial: readonly string[],
    body: (block: Block, state: readonly string[]) => readonly string[],
  ): readonly string[] {
    const model = this.#model;
    const size = this.int(queriesPerBlock);
    const count = model.shared("Squeeze", [this.#count]);
    const state = initial.map((name) => ({ name, dtype: "float32" as const }));
    return model.loop(count, state, (iteration, names) => {
      const start = model.node("Mul", [model.node("Unsqueeze", [iteration, this.int(0)]), size]);
      const end = model.node("Min", [model.node("Add", [start, size]), this.#attributes.length]);
      return body({ start, end, size: model.node("Sub", [end, start]) }, names);
    });
  }

  /** Returns the probabilities of a block over the keys up to its end, [B, Hkv, G, U, E]. */
  probabilities(block: Block): string {
    const { scale } = this.#attributes;
    const queries = this.rowsOf(this.queries, block);
    const scores = this.product(queries, this.visible(this.keys, block), { transB: 1 }, scale);
    return this.#model.node("Softmax", [this.#model.node("Add", [scores, this.#maskOf(block)])], {
      attributes: { axis: -1 },
    });
  }

  /** Returns the rows of a block [B, Hkv, G, U, X] from [B, Hkv, G, T, X]. */
  rowsOf(x: string, { start, end }: Block): string {
    return this.#model.node("Slice", [x, start, end, this.int(3)]);
  }

  /** Returns the keys or values up to the end of a block, [B, Hkv, 1, E, K]. */
  visible(x: string, { end }: Block): string {
    return this.#model.node("Slice", [x, this.int(0), end, this.int(3)]);
  }

  /** Converts rows of a block, [B, Hkv, G, U, K], to the layout of results: [B, U, Hq*K]. */
  merged(x: string): string {
    const model = this.#model;
    const { queryHeads, headSize } = this.#attributes;
    const byToken = model.node("Transpose", [x], { attributes: { perm: [0, 3, 1, 2, 4] } });
    return model.node("Reshape", [byToken, this.int(0, 0, queryHeads * headSize)]);
  }

  /** Adds a block's contribution, which covers the keys up to the block's end, to the sum of earlier blocks. */
  added(before: string, more: string, { size }: Block): string {
    const model = this.#model;
    const { headSize, kvHeads } = this.#attributes;
    const rows = model.node("Shape", [more], { attributes: { start: 0, end: 1 } });
    const shape = [rows, this.int(kvHeads, 1), size, this.int(headSize)];
    const zero = model.constant("float32", [], [0]);
    const zeros = model.node("Expand", [zero, model.node("Concat", shape, { attributes: { axis: 0 } })]);
    const longer = model.node("Concat", [before, zeros], { attributes: { axis: 3 } });
    return model.node("Add", [longer, more]);
  }

  /** Reshapes [B, T, Hq*K] to [B, Hkv, G, T, K]. */
  grouped(x: string): string {
    const { queryHeads, kvHeads, headSize } = this.#attributes;
    const shape = this.int(0, 0, kvHeads, queryHeads / kvHeads, headSize);
    const split = this.#model.node("Reshape", [x, shape]);
    return this.#model.node("Transpose", [split], { attributes: { perm: [0, 2, 3, 1, 4] } });
  }

  /** Reshapes [B, Hkv, 1, T, K] to [B, T, Hkv*K]. */
  ungrouped(x: string): string {
    const { kvHeads, headSize } = this.#attributes;
    const byToken = this.#model.node("Transpose", [x], { attributes: { perm: [0, 3, 1, 2, 4] } });
    return this.#model.node("Reshape", [byToken, this.int(0, 0, kvHeads * headSize)]);
  }

  /** Joins the rows of all query heads of a key head: [B, Hkv, G, U, X] to [B, Hkv, 1, G*U, X]. */
  ofKeyHead(x: string): string {
    const last = this.#model.node("Shape", [x], { attributes: { start: 4, end: 5 } });
    const shape = this.#model.node("Concat", [this.int(0, 0, 1, -1), last], { attributes: { axis: 0 } });
    return this.#model.node("Reshape", [x, shape]);
  }

  product(
    a: string,
    b: string,
    transposes: { readonly transA?: number; readonly transB?: number },
    alpha = 1,
  ): string {
    return this.#model.node("FusedMatMul", [a, b], {
      domain: CONTRIB_DOMAIN,
      attributes: { transA: 0, transB: 0, ...transposes, alpha: { float: alpha } },
    });
  }

  /**
   * Returns the mask of a block, [U, E]. It is a slice of the last block's mask, because only the distance between
   * query and key matters.
   */
  #maskOf({ start, end, size }: Block): string {
    const model = this.#model;
    const first = model.node("Sub", [this.#lastStart, start]);
    const from = model.node("Concat", [this.int(0), first], { attributes: { axis: 0 } });
    const last = model.node("Add", [first, end]);
    const to = model.node("Concat", [size, last], { attributes: { axis: 0 } });
    return model.node("Slice", [this.#lastMask, from, to, this.int(0, 1)]);
  }

  /**
   * Returns the mask of the queries from `start` to `end` over the keys before `end`: 0 where a query sees a key, far
   * below zero elsewhere.
   */
  #mask(start: string, end: string): string {
    const model = this.#model;
    const scalar = (name: string): string => model.shared("Squeeze", [name]);
    const range = (from: string, to: string): string =>
      model.shared("Range", [from, to, model.constant("int64", [], [1])]);
    const keys = range(model.constant("int64", [], [0]), scalar(end));
    const queries = model.shared("Unsqueeze", [range(scalar(start), scalar(end)), this.int(1)]);
    const isBefore = model.shared("LessOrEqual", [keys, queries]);
    const { window } = this.#attributes;
    const distance = window === 0 ? "" : model.shared("Sub", [queries, keys]);
    const isSeen =
      window === 0
        ? isBefore
        : model.shared("And", [isBefore, model.shared("Less", [distance, this.int(window)])]);
    const [zero, low] = [model.constant("float32", [], [0]), model.constant("float32", [], [masked])];
    return model.shared("Where", [isSeen, zero, low]);
  }

  /** Reshapes [B, T, Hkv*K] to [B, Hkv, 1, T, K]. */
  #split(x: string): string {
    const { kvHeads, headSize } = this.#attributes;
    const split = this.#model.node("Reshape", [x, this.int(0, 0, kvHeads, 1, headSize)]);
    return this.#model.node("Transpose", [split], { attributes: { perm: [0, 2, 3, 1, 4] } });
  }
}
