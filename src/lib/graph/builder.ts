/**
 * Builds graphs: one typed method per operation, each returning a handle to its result.
 *
 * The builder reuses an existing operation with the same operands, and leaves out operations that change nothing, so
 * graphs need no later simplification. Negative axes count from the end.
 */
import { assert, present } from "../../base/domain/assert.ts";
import { canonicalDimension, dimensionProduct } from "./dimension.ts";
import type { Dimension, Shape } from "./dimension.ts";
import type { DataType, Graph, NamedValue, Node, OpAttributes, OpKind, TensorType, Value } from "./graph.ts";
import { dimensionAt, formatShape, sameShape, shapeRules } from "./shape-rules.ts";

/** A value, or a number that becomes a scalar of the other operand's type. */
export type Operand = Value | number;

export interface MatMulOptions {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  /** Factor of the product; applying it takes no extra time. */
  readonly alpha?: number;
}

export interface FusedAttentionOptions {
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly scale: number;
  /** Number of tokens that a position sees, including itself; 0 or absent for all before it. */
  readonly window?: number;
}

/** Additional score [Hq] of each query head, which takes a part of the probability and reads no value. */
export interface Sinks {
  readonly sinks?: Value | undefined;
}

/**
 * Rotary position embedding: cosines and sines, each [positions, P], that rotate the first 2 P of a head's `headSize`
 * channels.
 */
export interface Rotation {
  readonly cos: Value;
  readonly sin: Value;
  readonly headSize: number;
}

/**
 * Operands of `deltaScan`, which computes N chunks of C positions: u [N, B, H, C, V]; w, q and k [N, B, H, C, K]; p [N,
 * B, H, C, C]; decay [N, B, H, 1, 1].
 */
export type DeltaChunks = Readonly<Record<"u" | "w" | "q" | "p" | "k" | "decay", Value>>;

export class GraphBuilder {
  readonly #nodes: Node[] = [];
  readonly #known = new Map<string, Node>();
  /** Numbers of long lists in attributes, by content. */
  readonly #lists = new Map<string, number>();
  readonly #producers: Node[] = [];
  readonly #inputs: NamedValue[] = [];
  readonly #names = new Set<string>();
  readonly #keepsNothing: boolean;

  /** @param options.keepsNothing true to ignore the marks of {@link GraphBuilder.kept}; default false */
  constructor({ keepsNothing = false }: { readonly keepsNothing?: boolean } = {}) {
    this.#keepsNothing = keepsNothing;
  }

  /** The operations so far, in topological order. */
  get nodes(): readonly Node[] {
    return this.#nodes;
  }

  /** Returns the operation that produces a value. */
  producer(value: Value): Node {
    const node = this.#producers[value.id];
    assert(node !== undefined && node.outputs.includes(value), "the value is of another builder");
    return node;
  }

  /**
   * Declares an input, whose data is passed to each run. A plain symbol in its shape is bound to the size of the actual
   * input.
   */
  input(name: string, dtype: DataType, shape: Shape): Value {
    this.#claim(name);
    const value = this.#append("input", [], { name, dtype, shape: shape.map(canonicalDimension) });
    this.#inputs.push({ name, value });
    return value;
  }

  /** Declares a weight, whose data is passed once to the session; its shape has no symbols. */
  parameter(name: string, shape: readonly number[], dtype: DataType = "float32"): Value {
    this.#claim(name);
    return this.#append("parameter", [], { name, dtype, shape });
  }

  /** Adds a small tensor to the program, with values in row-major order. */
  constant(dtype: DataType, shape: readonly number[], values: readonly number[]): Value {
    return this.#append("constant", [], { dtype, shape, values });
  }

  /** Adds a constant of rank 0. */
  scalar(value: number, dtype: DataType = "float32"): Value {
    return this.constant(dtype, [], [value]);
  }

  /** Returns a tensor with the same number in all elements. */
  full(shape: Shape, value: number, dtype: DataType = "float32"): Value {
    return this.expand(this.scalar(value, dtype), shape);
  }

  /** Returns 0, 1, …, length-1 as int64. */
  iota(length: Dimension): Value {
    return this.#append("iota", [], { length: canonicalDimension(length) });
  }

  negate(x: Value): Value {
    return this.#append("negate", [x], {});
  }

  exp(x: Value): Value {
    return this.#append("exp", [x], {});
  }

  log(x: Value): Value {
    return this.#append("log", [x], {});
  }

  sqrt(x: Value): Value {
    return this.#append("sqrt", [x], {});
  }

  tanh(x: Value): Value {
    return this.#append("tanh", [x], {});
  }

  sigmoid(x: Value): Value {
    return this.#append("sigmoid", [x], {});
  }

  /** Returns x · sigmoid(x). */
  silu(x: Value): Value {
    return this.#append("silu", [x], {});
  }

  /** Returns GELU in its tanh approximation. */
  geluTanh(x: Value): Value {
    return this.#append("geluTanh", [x], {});
  }

  not(x: Value): Value {
    return this.#append("not", [x], {});
  }

  cast(x: Value, dtype: DataType): Value {
    return x.dtype === dtype ? x : this.#append("cast", [x], { dtype });
  }

  /** Clamps to [minimum, maximum]; either may be infinite. The gradient passes between the limits and at them. */
  clip(x: Value, minimum: number, maximum: number): Value {
    return this.#append("clip", [x], { minimum, maximum });
  }

  /** Returns the same value without a gradient. */
  stopGradient(x: Value): Value {
    return this.#append("stopGradient", [x], {});
  }

  /** Returns the same value, available only after the signals are computed. Each signal has at least one axis. */
  after(x: Value, signals: readonly Value[]): Value {
    return this.#append("after", [x, ...signals], {});
  }

  /**
   * Returns the same value, marked so that it is kept when the gradient recomputes the operations around it
   * (`recompute.ts`). Unmarked if this builder keeps nothing.
   */
  kept(x: Value): Value {
    return this.#keepsNothing ? x : this.#append("kept", [x], {});
  }

  /**
   * Returns `result`, marked as the result of operations that the gradient computes again. Callers should use
   * `recomputed` of `recompute.ts`, which finds the captured values.
   */
  recomputed(result: Value, inputs: readonly Value[], captured: readonly Value[]): Value {
    return this.#append("recomputed", [result, ...inputs, ...captured], { inputCount: inputs.length });
  }

  /** Adds a copy of an operation, with other operands. */
  copy(node: Node, inputs: readonly Value[]): Node {
    return this.#node(node.kind, inputs, node.attributes);
  }

  add(a: Operand, b: Operand): Value {
    return this.#append("add", this.#pair(a, b), {});
  }

  subtract(a: Operand, b: Operand): Value {
    return this.#append("subtract", this.#pair(a, b), {});
  }

  multiply(a: Operand, b: Operand): Value {
    return this.#append("multiply", this.#pair(a, b), {});
  }

  divide(a: Operand, b: Operand): Value {
    return this.#append("divide", this.#pair(a, b), {});
  }

  maximum(a: Operand, b: Operand): Value {
    return this.#append("maximum", this.#pair(a, b), {});
  }

  minimum(a: Operand, b: Operand): Value {
    return this.#append("minimum", this.#pair(a, b), {});
  }

  less(a: Operand, b: Operand): Value {
    return this.#append("less", this.#pair(a, b), {});
  }

  lessOrEqual(a: Operand, b: Operand): Value {
    return this.#append("lessOrEqual", this.#pair(a, b), {});
  }

  greater(a: Operand, b: Operand): Value {
    return this.#append("greater", this.#pair(a, b), {});
  }

  greaterOrEqual(a: Operand, b: Operand): Value {
    return this.#append("greaterOrEqual", this.#pair(a, b), {});
  }

  equal(a: Operand, b: Operand): Value {
    return this.#append("equal", this.#pair(a, b), {});
  }

  and(a: Value, b: Value): Value {
    return this.#append("and", [a, b], {});
  }

  or(a: Value, b: Value): Value {
    return this.#append("or", [a, b], {});
  }

  where(condition: Value, then: Operand, otherwise: Operand): Value {
    return this.#append("where", [condition, ...this.#pair(then, otherwise)], {});
  }

  /** Reshapes to explicit sizes, which may include symbols. */
  reshape(x: Value, shape: Shape): Value {
    const target = shape.map(canonicalDimension);
    if (sameShape(x.shape, target)) return x;
    const node = this.producer(x);
    const origin = node.kind === "reshape" ? node.inputs[0] : undefined;
    if (origin !== undefined) return this.reshape(origin, target);
    return this.#append("reshape", [x], { shape: target });
  }

  /** Permutes axes: axis i of the result is axis permutation[i] of the operand. */
  transpose(x: Value, permutation: readonly number[]): Value {
    if (permutation.every((axis, position) => axis === position)) return x;
    return this.#append("transpose", [x], { permutation });
  }

  concat(values: readonly Value[], axis: number): Value {
    const first = values[0];
    assert(first !== undefined, "concat: nothing to join");
    if (values.length === 1) return first;
    return this.#append("concat", values, { axis: absoluteAxis(first, axis) });
  }

  /** Returns the range [start, end) of one axis. Both bounds may be symbolic, and `end` defaults to the axis's size. */
  slice(x: Value, axis: number, start: Dimension, end?: Dimension): Value {
    const position = absoluteAxis(x, axis);
    const size = dimensionAt(x.shape, position);
    const until = canonicalDimension(end ?? size);
    if (start === 0 && until === size) return x;
    return this.#append("slice", [x], {
      axis: position,
      start: canonicalDimension(start),
      end: until,
    });
  }

  /** Broadcasts to a larger shape. */
  expand(x: Value, shape: Shape): Value {
    const target = shape.map(canonicalDimension);
    return sameShape(x.shape, target) ? x : this.#append("expand", [x], { shape: target });
  }

  /** Sums over `axes`, by default over all axes. */
  reduceSum(x: Value, axes?: readonly number[], keepDimensions = false): Value {
    const attributes = { axes: absoluteAxes(x, axes), keepDimensions };
    return attributes.axes.length === 0 ? x : this.#append("reduceSum", [x], attributes);
  }

  /** Averages over `axes`, by default over all axes. */
  reduceMean(x: Value, axes?: readonly number[], keepDimensions = false): Value {
    const attributes = { axes: absoluteAxes(x, axes), keepDimensions };
    return attributes.axes.length === 0 ? x : this.#append("reduceMean", [x], attributes);
  }

  /** Returns the maximum over `axes`, by default over all axes. */
  reduceMax(x: Value, axes?: readonly number[], keepDimensions = false): Value {
    const attributes = { axes: absoluteAxes(x, axes), keepDimensions };
    return attributes.axes.length === 0 ? x : this.#append("reduceMax", [x], attributes);
  }

  /** Returns alpha · op(a) · op(b) over the last two axes; leading axes are broadcast. */
  matMul(a: Value, b: Value, options: MatMulOptions = {}): Value {
    const { transposeA = false, transposeB = false, alpha = 1 } = options;
    return this.#append("matMul", [a, b], { transposeA, transposeB, alpha });
  }

  /** Returns c + alpha · a · bᵀ for matrices a [M, K], b [N, K] and c [M, N]. */
  gemm(a: Value, b: Value, c: Value, { alpha = 1 }: Pick<MatMulOptions, "alpha"> = {}): Value {
    return this.#append("gemm", [a, b, c], { alpha });
  }

  /**
   * Returns x · (weight · scales) as an integer product, with each row of x rounded to 255 steps.
   *
   * @param x [..., K]; weight int8 or uint8 [K, N]; scales [N]
   */
  int8MatMul(x: Value, weight: Value, scales: Value): Value {
    return this.#append("int8MatMul", [x, weight, scales], {});
  }

  /**
   * Returns (x · scales) · weightᵀ as an integer product, with each row of x · scales rounded to 255 steps.
   *
   * @param x [M, N]; weight int8 or uint8 [K, N]; scales [N]
   */
  int8BackMatMul(x: Value, weight: Value, scales: Value): Value {
    return this.#append("int8BackMatMul", [x, weight, scales], {});
  }

  /**
   * Returns x · Wᵀ for 4-bit weights in blocks of 32, with each block of 32 numbers of x rounded to 255 steps.
   *
   * @param x [..., K]; codes uint8 [N, K/32, 16], two per byte; scales [N, K/32]
   */
  int4MatMul(x: Value, codes: Value, scales: Value): Value {
    return this.#append("int4MatMul", [x, codes, scales], {});
  }

  /**
   * Returns the product of each row with the weight [N, K] of its own expert; see `OpAttributes.expertMatMul`.
   *
   * @param x [P, K], or [P, N] if transposed
   * @param experts int64 [P]
   * @param parts tensors of the weights of all experts
   */
  expertMatMul(
    x: Value,
    experts: Value,
    parts: readonly Value[],
    options: OpAttributes["expertMatMul"],
  ): Value {
    return this.#append("expertMatMul", [x, experts, ...parts], options);
  }

  /** Returns the rows of `table` [N, …rest] at int64 `ids` of any shape: [...ids, ...rest]. */
  gatherRows(table: Value, ids: Value): Value {
    return this.#append("gatherRows", [table, ids], {});
  }

  /** Returns the columns of `table` [K, N] at int64 `ids` of any shape: [...ids, K]. */
  gatherColumns(table: Value, ids: Value): Value {
    return this.#append("gatherColumns", [table, ids], {});
  }

  /**
   * Returns the rows of `table` [N, …rest] at `ids`, like `gatherRows`, but its gradient is also a gather. Each row of
   * the table takes its gradient from one index only. Other occurrences of the row's id are padding.
   *
   * @param ids int64 of any shape with M elements
   * @param places int64 [N]: for each row of the table, the index in the flat `ids` from which it takes its gradient
   * @param options.isPartial true if some rows may take no gradient; their entry in `places` is M
   */
  moveRows(table: Value, ids: Value, places: Value, options: { readonly isPartial?: boolean } = {}): Value {
    return this.#append("moveRows", [table, ids, places], { isPartial: options.isPartial ?? false });
  }

  /**
   * Returns `table` [N, ...rest] with its rows at int64 `ids` [M] replaced by `rows` [M, ...rest]. If an id occurs
   * twice, its rows must be equal.
   */
  placeRows(table: Value, rows: Value, ids: Value): Value {
    return this.#append("placeRows", [table, rows, ids], {});
  }

  /** Sums `updates` [...ids, ...rest] into a zero tensor [rows, ...rest]: the reverse of `gatherRows`. */
  scatterAddRows(updates: Value, ids: Value, rows: Dimension): Value {
    const rest = updates.shape.slice(ids.shape.length);
    const count = dimensionProduct(ids.shape);
    const sums = this.#append(
      "scatterAddRows",
      [this.reshape(updates, [count, dimensionProduct(rest)]), this.reshape(ids, [count])],
      { rows: canonicalDimension(rows) },
    );
    return this.reshape(sums, [rows, ...rest]);
  }

  /** Picks elements along the last axis: x [..., N] at int64 ids [..., M]. */
  gatherLast(x: Value, ids: Value): Value {
    return this.#append("gatherLast", [x, ids], {});
  }

  /** Returns the indices of the `count` largest elements along the last axis, largest first: int64 [..., count]. */
  topIds(x: Value, count: number): Value {
    return this.#append("topIds", [x], { count });
  }

  /** Softmax over the last axis. */
  softmax(x: Value): Value {
    return this.#append("softmax", [x], {});
  }

  /** Logarithm of the softmax over the last axis. */
  logSoftmax(x: Value): Value {
    return this.#append("logSoftmax", [x], {});
  }

  /** Returns the natural-log probability of one id per row: logits [..., V], int64 ids [...] → [...]. */
  tokenLogprob(logits: Value, ids: Value): Value {
    return this.#append("tokenLogprob", [logits, ids], {});
  }

  /**
   * Returns the natural-log probabilities of one id per row under the logits x · weightᵀ, and the entropies of these
   * distributions. Only the logits of a block of the vocabulary are in memory at a time. Entropies have no gradient.
   *
   * @param x [N, D]; weight [V, D]; ids int64 [N]
   */
  linearLogprob(
    x: Value,
    weight: Value,
    ids: Value,
  ): { readonly logprobs: Value; readonly entropies: Value } {
    return logprobResults(this.#node("linearLogprob", [x, weight, ids], {}));
  }

  /**
   * Like `linearLogprob`, with integer products.
   *
   * @param x [N, D]
   * @param weight codes int8 or uint8 [D, V], and scales [V]
   * @param ids int64 [N]
   */
  int8LinearLogprob(
    x: Value,
    { codes, scales }: Readonly<Record<"codes" | "scales", Value>>,
    ids: Value,
  ): { readonly logprobs: Value; readonly entropies: Value } {
    return logprobResults(this.#node("int8LinearLogprob", [x, codes, scales, ids], {}));
  }

  /** Returns x / sqrt(mean(x²) + epsilon) · weight over the last axis; weight is [D]. */
  rmsNorm(x: Value, weight: Value, epsilon: number): Value {
    return this.#append("rmsNorm", [x, weight], { epsilon });
  }

  /**
   * Rotates the pairs (i, i + P) of each head, for all i below P, by the angle of the token's position. A head has K ≥
   * 2 P channels.
   *
   * @param x [B, T, H*K]
   */
  rotary(x: Value, positions_BT: Value, { cos, sin, headSize }: Rotation): Value {
    return this.#append("rotary", [x, positions_BT, cos, sin], { inverse: false, headSize });
  }

  /** Rotates by the opposite angles; this is also the gradient of `rotary`. */
  inverseRotary(x: Value, positions_BT: Value, { cos, sin, headSize }: Rotation): Value {
    return this.#append("rotary", [x, positions_BT, cos, sin], { inverse: true, headSize });
  }

  /**
   * Returns fused self-attention over whole sequences, for serving (without a gradient).
   *
   * @param q [B, T, Hq*K]; k and v [B, T, Hkv*K]; position embeddings already applied
   * @returns attention [B, T, Hq*K], and the keys and values in the cache's layout, [B, Hkv, T, K]
   */
  causalAttention(
    q: Value,
    k: Value,
    v: Value,
    { sinks, ...options }: FusedAttentionOptions & Sinks,
  ): { readonly attention: Value; readonly keys: Value; readonly values: Value } {
    const operands = [q, k, v, ...(sinks === undefined ? [] : [sinks])];
    const [attention, keys, values] = this.#node("causalAttention", operands, {
      window: 0,
      ...options,
    }).outputs;
    return {
      attention: present(attention, "the attention"),
      keys: present(keys, "the keys"),
      values: present(values, "the values"),
    };
  }

  /**
   * Returns self-attention over whole sequences, for training. Its gradient recomputes the probabilities block by
   * block.
   *
   * @param q [B, T, Hq*K]; k and v [B, T, Hkv*K]; position embeddings already applied
   * @returns [B, T, Hq*K]
   */
  blockedAttention(q: Value, k: Value, v: Value, options: FusedAttentionOptions): Value {
    return this.#append("blockedAttention", [q, k, v], { window: 0, ...options });
  }

  /**
   * Returns the gradients of `blockedAttention` with respect to q, k and v.
   *
   * @param values operands of `blockedAttention`; `attended`, its result; `gradient`, the gradient with respect to this
   * result, [B, T, Hq*K]
   */
  blockedAttentionGradient(
    values: Readonly<Record<"q" | "k" | "v" | "attended" | "gradient", Value>>,
    options: FusedAttentionOptions,
  ): readonly Value[] {
    const { q, k, v, attended, gradient } = values;
    const operands = [q, k, v, attended, gradient];
    return this.#node("blockedAttentionGradient", operands, { window: 0, ...options }).outputs;
  }

  /**
   * Returns fused attention from some tokens to the filled part of a cache and to themselves, for serving (without a
   * gradient). For two or more tokens the result equals `causalAttention` over the whole sequence bit for bit.
   *
   * @param inputs q [1, T, Hq*K]; k and v [1, T, Hkv*K]; position embeddings already applied
   * @param past keys and values [1, Hkv, C, K], filled up to `length` (int64 [1], at most C)
   * @returns [1, T, Hq*K]
   */
  continuedAttention(
    inputs: { readonly q: Value; readonly k: Value; readonly v: Value },
    past: { readonly keys: Value; readonly values: Value; readonly length: Value },
    { sinks, ...options }: FusedAttentionOptions & Sinks,
  ): Value {
    const operands = [inputs.q, inputs.k, inputs.v, past.keys, past.values, past.length];
    if (sinks !== undefined) operands.push(sinks);
    return this.#append("continuedAttention", operands, { window: 0, ...options });
  }

  /**
   * Returns the gated delta rule over some tokens after a state, for serving (without a gradient). A token's result
   * does not depend on how the sequence is split into calls.
   *
   * @param inputs q and k [B, T, H*K]; v [B, T, H*V]; logDecay and strength [B, T, H]
   * @param state [B, H, K, V]
   * @returns o [B, T, H*V], and the state after the last token
   */
  deltaAttention(
    inputs: Readonly<Record<"q" | "k" | "v" | "logDecay" | "strength", Value>>,
    state: Value,
    options: { readonly heads: number; readonly scale: number },
  ): { readonly result: Value; readonly newState: Value } {
    const { q, k, v, logDecay, strength } = inputs;
    const node = this.#node("deltaAttention", [q, k, v, state, logDecay, strength], options);
    const [result, newState] = node.outputs;
    return { result: present(result, "the result"), newState: present(newState, "the new state") };
  }

  /**
   * Returns linear attention with decay over some tokens after a state, for serving (without a gradient). A token's
   * numbers do not depend on how the sequence is split into calls.
   *
   * @param inputs q and k [B, T, G*K]; v [B, T, H*V]; logDecay [B, T, H]
   * @param state [B, H, K, V]
   * @returns o [B, T, H*V], and the state after the last token
   */
  gatedAttention(
    { q, k, v, logDecay }: Readonly<Record<"q" | "k" | "v" | "logDecay", Value>>,
    state: Value,
    options: { readonly keyHeads: number; readonly heads: number },
  ): { readonly result: Value; readonly newState: Value } {
    const [result, newState] = this.#node("gatedAttention", [q, k, v, state, logDecay], options).outputs;
    return { result: present(result, "the result"), newState: present(newState, "the new state") };
  }

  /** Returns the inverse of I + the strictly lower part of a [..., C, C], where C is a power of two. */
  unitLowerInverse(a: Value): Value {
    return this.#append("unitLowerInverse", [a], {});
  }

  /**
   * Runs the chunks of a delta rule one after another, starting with a state of zeros; see `OpAttributes.deltaScan`.
   *
   * @returns [N, B, H, C, V]
   */
  deltaScan({ u, w, q, p, k, decay }: DeltaChunks): Value {
    return this.#append("deltaScan", [u, w, q, p, k, decay], {});
  }

  /** Returns the gradients of `deltaScan` with respect to its operands u, w, q, p, k and decay. */
  deltaScanGradient({ u, w, q, p, k, decay }: DeltaChunks, gradient: Value): readonly Value[] {
    return this.#node("deltaScanGradient", [u, w, q, p, k, decay, gradient], {}).outputs;
  }

  /** Returns the graph that computes `outputs`, without operations that no output needs. */
  build(outputs: Readonly<Record<string, Value>>): Graph {
    const named = Object.entries(outputs).map(([name, value]) => ({ name, value }));
    for (const { name } of named) {
      assert(!this.#names.has(name), `the output ${name} is not also an input or a parameter`);
    }
    const needed = new Set<Node>();
    const pending = named.map(({ value }) => this.producer(value));
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      if (needed.has(node)) continue;
      needed.add(node);
      pending.push(...node.inputs.map((value) => this.producer(value)));
    }
    const nodes = this.#nodes.filter((node) => needed.has(node));
    const parameters = nodes.flatMap((node) =>
      node.kind === "parameter" ? node.outputs.map((value) => ({ name: node.attributes.name, value })) : [],
    );
    return { nodes, inputs: [...this.#inputs], parameters, outputs: named };
  }

  #append<K extends OpKind>(kind: K, inputs: readonly Value[], attributes: OpAttributes[K]): Value {
    return present(this.#node(kind, inputs, attributes).outputs[0], `a result of ${kind}`);
  }

  #node<K extends OpKind>(kind: K, inputs: readonly Value[], attributes: OpAttributes[K]): Node {
    // Asserts that each operand is from this builder. Otherwise, another builder's value would silently stand for this
    // builder's value with the same id.
    for (const value of inputs) this.producer(value);
    const key = `${kind} ${inputs.map(({ id }) => id).join(" ")} ${this.#keyOf(attributes)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const types: readonly TensorType[] = shapeRules[kind](inputs, attributes);
    const outputs = types.map(({ dtype, shape }, index) => ({
      id: this.#producers.length + index,
      dtype,
      shape,
    }));
    // Safe cast: the compiler cannot see that kind and attributes belong together.
    const node = { kind, inputs, attributes, outputs } as unknown as Node;
    this.#nodes.push(node);
    for (let index = 0; index < outputs.length; index++) this.#producers.push(node);
    this.#known.set(key, node);
    return node;
  }

  /** Returns the same text for attributes with the same content, and different texts otherwise. */
  #keyOf(value: unknown): string {
    if (typeof value !== "object" || value === null) return exactText(value);
    if (Array.isArray(value)) {
      if (value.length < longListLength) return `[${value.map((item) => this.#keyOf(item)).join()}]`;
      const content = contentOf(value);
      const number = this.#lists.get(content) ?? this.#lists.size;
      this.#lists.set(content, number);
      return `list ${number}`;
    }
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{${fields.map(([name, field]) => `${name}:${this.#keyOf(field)}`).join()}}`;
  }

  #pair(a: Operand, b: Operand): readonly [Value, Value] {
    if (typeof a !== "number") {
      return [a, typeof b === "number" ? this.scalar(b, a.dtype) : b];
    }
    assert(typeof b !== "number", "an operation on two numbers needs no graph");
    return [this.scalar(a, b.dtype), b];
  }

  #claim(name: string): void {
    assert(!this.#names.has(name), `two inputs or parameters are called ${name}`);
    this.#names.add(name);
  }
}

function logprobResults({ outputs: [logprobs, entropies] }: Node): {
  readonly logprobs: Value;
  readonly entropies: Value;
} {
  return {
    logprobs: present(logprobs, "the log-probabilities"),
    entropies: present(entropies, "the entropies"),
  };
}

function absoluteAxis(x: Value, axis: number): number {
  const rank = x.shape.length;
  assert(axis >= -rank && axis < rank, `${formatShape(x.shape)} has no axis ${axis}`);
  return axis < 0 ? axis + rank : axis;
}

function absoluteAxes(x: Value, axes: readonly number[] | undefined): readonly number[] {
  return axes === undefined
    ? x.shape.map((_, axis) => axis)
    : axes.map((axis) => absoluteAxis(x, axis)).sort((left, right) => left - right);
}

/**
 * Contents of long lists of numbers, such as a constant's values. They are cached by list, because graphs use a list
 * many times.
 */
const listContents = new WeakMap<readonly unknown[], string>();
const longListLength = 64;

function contentOf(list: readonly unknown[]): string {
  const known = listContents.get(list);
  if (known !== undefined) return known;
  const content = list.map(exactText).join();
  listContents.set(list, content);
  return content;
}

/** Writes a number, text, truth value or null. Unlike JSON, distinguishes infinities, NaN and -0 from other values. */
function exactText(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return Object.is(value, -0) ? "-0" : String(value);
}
