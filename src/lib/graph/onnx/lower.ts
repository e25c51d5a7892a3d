/**
 * Lowers a graph to an ONNX model for onnxruntime, with weights as external data.
 *
 * There is one rule per operation. Rules choose the kernel that was measured as fastest on the CPU; lowering does not
 * change the computation.
 */
import { assert, present } from "../../../base/domain/assert.ts";
import type { Shape } from "../dimension.ts";
import type { Graph, Node, OpKind, Value } from "../graph.ts";
import { fusedAttention } from "./fused-attention.ts";
import { backProduct, codeProduct, rowCodes } from "./integer-codes.ts";
import { blockedAttention, blockedAttentionGradient, type QueryShape } from "./lower-blocks.ts";
import {
  type DeltaOperands,
  deltaScan,
  deltaScanGradient,
  type DeltaSizes,
  unitLowerInverse,
} from "./lower-delta.ts";
import { expertProduct, tilesOf } from "./lower-experts.ts";
import { floatScores, int8Scores, linearLogprob, type Scores } from "./lower-logprobs.ts";
import { CONTRIB_DOMAIN, dataTypeNumbers, OnnxModelWriter } from "./onnx-model.ts";
import type { OnnxNodeOptions } from "./onnx-model.ts";
import { dimensionAt } from "../shape-rules.ts";
import type { WeightSource } from "../weight-source.ts";

interface Lowering {
  readonly model: OnnxModelWriter;
  /** Returns the name of a value. */
  readonly nameOf: (value: Value) => string;
  /** Names of the results; "" for unused ones. */
  readonly results: readonly string[];
}

type LoweringRule<K extends OpKind> = (
  node: Node<K>,
  operands: readonly string[],
  lowering: Lowering,
) => void;

/**
 * Writes a graph as ONNX bytes.
 *
 * @param sourceOf returns the location of a parameter's data by the parameter's name; a location in a file uses the
 * file name by which the model will refer to that file
 * @param onNode called for each operation, with the operation and the name of its node in the model
 */
export function lower(
  graph: Graph,
  sourceOf: (parameter: string) => WeightSource,
  onNode: (operation: string, name: string) => void = () => undefined,
): Uint8Array {
  const model = new OnnxModelWriter(onNode);
  const names = nameValues(graph);
  const nameOf = (value: Value): string => present(names.get(value.id), `a name of ${value.id}`);
  for (const input of graph.inputs) model.input(input);
  for (const parameter of graph.parameters) model.parameter(parameter, sourceOf(parameter.name));
  const declared = new Set([...graph.inputs, ...graph.parameters, ...graph.outputs].map(({ name }) => name));
  for (const node of graph.nodes) {
    if (node.kind === "constant") {
      const { dtype, shape, values } = node.attributes;
      const sizes = shape.filter((size) => typeof size === "number");
      names.set(present(node.outputs[0], "a result").id, model.constant(dtype, sizes, values));
      continue;
    }
    if (node.kind === "kept" || node.kind === "recomputed") {
      // The result is an alias of the first operand.
      names.set(present(node.outputs[0], "a result").id, nameOf(present(node.inputs[0], "an operand")));
      continue;
    }
    const results = node.outputs.map((value) => names.get(value.id) ?? "");
    for (const [index, name] of results.entries())
      if (name !== "" && !declared.has(name)) model.result({ name, value: node.outputs[index] });
    // Safe cast: the compiler cannot see that the rule belongs to the node's kind.
    const rule = loweringRules[node.kind] as LoweringRule<OpKind>;
    rule(node, node.inputs.map(nameOf), { model, nameOf, results });
  }
  for (const { name, value } of graph.outputs) {
    model.output({ name, value });
    const source = nameOf(value);
    if (source !== name) model.node("Identity", [source], { outputs: [name] });
  }
  return model.finish();
}

/** Names each used value: inputs, parameters and outputs by their names, others by number. */
function nameValues(graph: Graph): Map<number, string> {
  const names = new Map<number, string>();
  for (const { name, value } of [...graph.inputs, ...graph.parameters]) names.set(value.id, name);
  const made = new Set(
    graph.nodes.flatMap(({ kind, outputs }) => (kind === "constant" ? [] : outputs.map((value) => value.id))),
  );
  for (const { name, value } of graph.outputs) {
    if (made.has(value.id) && !names.has(value.id)) names.set(value.id, name);
  }
  for (const value of graph.nodes.flatMap(({ inputs }) => inputs)) {
    if (!names.has(value.id)) names.set(value.id, `%v${value.id}`);
  }
  return names;
}

const loweringRules: { readonly [K in OpKind]: LoweringRule<K> } = {
  // Adds nothing: inputs and parameters are declared before the nodes, and `nameValues` has named constants and
  // aliases.
  input: () => {},
  parameter: () => {},
  constant: () => {},
  kept: () => {},
  recomputed: () => {},
  iota: ({ attributes: { length } }, _, lowering) => {
    const scalar = (name: string) => lowering.model.node("Squeeze", [name]);
    const limit =
      typeof length === "number"
        ? lowering.model.constant("int64", [], [length])
        : scalar(lowering.model.dimension(length));
    const zero = lowering.model.constant("int64", [], [0]);
    const one = lowering.model.constant("int64", [], [1]);
    emit(lowering, "Range", [zero, limit, one]);
  },

  negate: direct("Neg"),
  exp: direct("Exp"),
  log: direct("Log"),
  sqrt: direct("Sqrt"),
  tanh: direct("Tanh"),
  sigmoid: direct("Sigmoid"),
  // QuickGelu with alpha 1 equals SiLU, and takes one pass instead of two.
  silu: direct("QuickGelu", { domain: CONTRIB_DOMAIN, attributes: { alpha: { float: 1 } } }),
  geluTanh: direct("Gelu", { attributes: { approximate: "tanh" } }),
  not: direct("Not"),
  cast: ({ attributes: { dtype } }, operands, lowering) => {
    emit(lowering, "Cast", operands, { attributes: { to: dataTypeNumbers[dtype] } });
  },
  clip: ({ attributes: { minimum, maximum } }, operands, lowering) => {
    const limits = [minimum, maximum].map((limit) => lowering.model.constant("float32", [], [limit]));
    emit(lowering, "Clip", [...operands, ...limits]);
  },
  stopGradient: direct("Identity"),

  add: direct("Add"),
  subtract: direct("Sub"),
  multiply: direct("Mul"),
  divide: direct("Div"),
  maximum: direct("Max"),
  minimum: direct("Min"),
  less: direct("Less"),
  lessOrEqual: direct("LessOrEqual"),
  greater: direct("Greater"),
  greaterOrEqual: direct("GreaterOrEqual"),
  equal: direct("Equal"),
  and: direct("And"),
  or: direct("Or"),
  where: direct("Where"),

  after: ({ inputs: [x] }, [value, ...signals], lowering) => {
    // Lowers to a reshape, which moves no data. Its target sizes are 0 (keep the size), computed as 0 times the number
    // of elements of each signal, so it must wait for the signals. The size of a single axis would not do, because the
    // runtime may read it from another tensor of the same size.
    const { model } = lowering;
    const { length: rank } = present(x, "an operand").shape;
    const zeros = model.constant("int64", [rank], Array<number>(rank).fill(0));
    const target = signals
      .map((signal) => model.shared("Size", [signal]))
      .reduce((product, size) => model.shared("Mul", [size, product]), zeros);
    emit(lowering, "Reshape", [present(value, "an operand"), target]);
  },

  reshape: ({ inputs, attributes: { shape } }, operands, lowering) => {
    const target = reshapeTarget(present(inputs[0], "an operand").shape, shape);
    const vector =
      target === undefined
        ? lowering.model.shape(shape)
        : lowering.model.constant("int64", [target.length], target);
    emit(lowering, "Reshape", [...operands, vector]);
  },
  transpose: ({ attributes: { permutation } }, operands, lowering) => {
    emit(lowering, "Transpose", operands, { attributes: { perm: permutation } });
  },
  concat: ({ attributes: { axis } }, operands, lowering) => {
    emit(lowering, "Concat", operands, { attributes: { axis } });
  },
  slice: ({ attributes: { axis, start, end } }, operands, lowering) => {
    const bounds = [start, end].map((bound) => lowering.model.dimension(bound));
    emit(lowering, "Slice", [...operands, ...bounds, lowering.model.constant("int64", [1], [axis])]);
  },
  expand: ({ attributes: { shape } }, operands, lowering) => {
    emit(lowering, "Expand", [...operands, lowering.model.shape(shape)]);
  },

  reduceSum: reduction("ReduceSum"),
  reduceMean: reduction("ReduceMean"),
  reduceMax: reduction("ReduceMax"),

  matMul: ({ attributes: { transposeA, transposeB, alpha } }, operands, lowering) => {
    if (!transposeA && !transposeB && alpha === 1) {
      emit(lowering, "MatMul", operands);
      return;
    }
    emit(lowering, "FusedMatMul", operands, {
      domain: CONTRIB_DOMAIN,
      attributes: {
        transA: transposeA ? 1 : 0,
        transB: transposeB ? 1 : 0,
        alpha: { float: alpha },
      },
    });
  },

  gemm: ({ attributes: { alpha } }, operands, lowering) =>
    emit(lowering, "Gemm", operands, { attributes: { transB: 1, alpha: { float: alpha } } }),

  int8MatMul: ({ inputs }, [x, weight, scales], lowering) => {
    const { codes, size } = rowCodes(lowering.model, present(x, "x"));
    const weightCodes = { name: present(weight, "a weight"), dtype: inputs[1].dtype };
    const product = codeProduct(lowering.model, codes, weightCodes, present(scales, "scales"));
    emit(lowering, "Mul", [product, size]);
  },
  int8BackMatMul: ({ inputs }, [x = "", weight = "", scales = ""], lowering) => {
    const codes = { name: weight, dtype: inputs[1].dtype };
    emit(lowering, "Identity", [backProduct(lowering.model, x, codes, scales)]);
  },
  int4MatMul: ({ inputs, outputs }, operands, lowering) => {
    const [K, N] = [inputs[0], outputs[0]].map((value) => value?.shape.at(-1));
    assert(typeof K === "number" && typeof N === "number", "the sizes of a weight are known");
    emit(lowering, "MatMulNBits", operands, {
      domain: CONTRIB_DOMAIN,
      // With larger blocks, and at other accuracy levels, the kernel's result for a row would depend on the number of
      // rows.
      attributes: { K, N, bits: 4, block_size: 32, accuracy_level: 4 },
    });
  },

  expertMatMul: ({ inputs, attributes }, [x = "", experts = "", weight = "", scales = ""], lowering) => {
    const { model } = lowering;
    const pairCount = model.dimension(dimensionAt(present(inputs[1], "experts").shape, 0));
    const expertCount = Number(dimensionAt(inputs[2].shape, 0));
    const tiles = tilesOf(model, experts, { expertCount, pairCount, ...attributes });
    const weights = { name: weight, scales, dtype: inputs[2].dtype };
    emit(lowering, "Identity", [expertProduct(model, { x, tiles, ...attributes }, weights)]);
  },

  gatherRows: direct("Gather"),
  gatherColumns: ({ inputs }, [table = "", ids = ""], lowering) => {
    const { model } = lowering;
    const columns = model.node("Gather", [table, ids], { attributes: { axis: 1 } });
    const { length: rank } = inputs[1].shape;
    const perm = [...Array.from({ length: rank }, (_, axis) => axis + 1), 0];
    emit(lowering, "Transpose", [columns], { attributes: { perm } });
  },
  moveRows: (_, [table, ids], lowering) =>
    emit(lowering, "Gather", [present(table, "a table"), present(ids, "ids")]),
  placeRows: (_node, [table, rows, ids], lowering) => {
    const { model } = lowering;
    const indices = model.node("Unsqueeze", [present(ids, "ids"), model.constant("int64", [1], [1])]);
    emit(lowering, "ScatterND", [present(table, "a table"), indices, present(rows, "rows")]);
  },
  scatterAddRows: ({ outputs }, [updates, ids], lowering) => {
    // ScatterElements adds elements in order, while threads of ScatterND would race on equal ids.
    const { model } = lowering;
    const rows = present(updates, "updates");
    const column = model.node("Unsqueeze", [present(ids, "ids"), model.constant("int64", [1], [1])]);
    const indices = model.node("Expand", [column, model.node("Shape", [rows])]);
    const zero = model.constant("float32", [], [0]);
    const shape = model.shape(present(outputs[0], "a result").shape);
    const zeros = model.node("Expand", [zero, shape]);
    emit(lowering, "ScatterElements", [zeros, indices, rows], {
      attributes: { axis: 0, reduction: "add" },
    });
  },
  gatherLast: direct("GatherElements", { attributes: { axis: -1 } }),
  topIds: ({ attributes: { count }, outputs: [ids] }, [x = ""], { model, results }) => {
    const values = `%unused 0 of ${results[0] || ids.id}`;
    model.node("TopK", [x, model.constant("int64", [1], [count])], {
      attributes: { axis: -1, largest: 1, sorted: 1 },
      outputs: [values, results[0]],
    });
  },

  softmax: direct("Softmax", { attributes: { axis: -1 } }),
  logSoftmax: direct("LogSoftmax", { attributes: { axis: -1 } }),
  tokenLogprob: (_, [logits, ids], lowering) => {
    const { model } = lowering;
    const last = model.constant("int64", [1], [-1]);
    const logprobs = model.node("LogSoftmax", [present(logits, "logits")], {
      attributes: { axis: -1 },
    });
    const column = model.node("Unsqueeze", [present(ids, "ids"), last]);
    const picked = model.node("GatherElements", [logprobs, column], { attributes: { axis: -1 } });
    emit(lowering, "Squeeze", [picked, last]);
  },
  linearLogprob: ({ inputs }, [x = "", weight = "", ids = ""], lowering) => {
    const vocabularySize = Number(inputs[1].shape[0]);
    emitLogprobs({ ids, scores: floatScores(lowering.model, x, weight, vocabularySize) }, lowering);
  },
  int8LinearLogprob: ({ inputs }, [x = "", name = "", scales = "", ids = ""], lowering) => {
    const { dtype, shape } = inputs[1];
    const weight = { name, dtype, scales, vocabularySize: Number(shape[1]) };
    emitLogprobs({ ids, scores: int8Scores(lowering.model, x, weight) }, lowering);
  },
  rmsNorm: ({ attributes: { epsilon } }, operands, { model, results: [result, inverse] }) => {
    // The kernel requires a name for its first result, even if no operation uses it.
    const outputs = [result || `%unused 0 of ${inverse}`, ...(inverse ? [inverse] : [])];
    model.node("SimplifiedLayerNormalization", operands, {
      attributes: { axis: -1, epsilon: { float: epsilon }, stash_type: 1 },
      outputs,
    });
  },

  rotary: ({ inputs, attributes: { inverse, headSize } }, [x, positions, cos, sin], lowering) => {
    const { model } = lowering;
    // Without these attributes, the kernel assumes that a head has as many channels as the tables rotate.
    const rotated = 2 * Number(present(inputs[2], "cos").shape[1]);
    const width = Number(present(inputs[0], "x").shape[2]);
    const attributes: Readonly<Record<string, number>> =
      rotated === headSize ? {} : { num_heads: width / headSize, rotary_embedding_dim: rotated };
    const angle = present(sin, "sin");
    const turned = inverse ? model.shared("Neg", [angle]) : angle;
    emit(
      lowering,
      "RotaryEmbedding",
      [present(x, "x"), present(positions, "positions"), present(cos, "cos"), turned],
      {
        domain: CONTRIB_DOMAIN,
        attributes,
      },
    );
  },
  causalAttention: ({ inputs, attributes }, operands, lowering) => {
    const { shape } = present(inputs[0], "queries");
    const length = lowering.model.dimension(dimensionAt(shape, 1));
    const rows = lowering.model.dimension(dimensionAt(shape, 0));
    const [q = "", k = "", v = "", sinks = ""] = operands;
    const { headSize } = queriesOf(inputs, attributes, lowering.model);
    fusedAttention([q, k, v, "", "", sinks], { ...attributes, length, rows, headSize }, lowering);
  },
  continuedAttention: ({ inputs, attributes }, operands, lowering) => {
    const { model } = lowering;
    const length = model.dimension(dimensionAt(present(inputs[0], "queries").shape, 1));
    const pastLength = present(operands[5], "the past length");
    const totals = {
      length: model.node("Add", [pastLength, length]),
      rows: model.constant("int64", [1], [1]),
      headSize: queriesOf(inputs, attributes, model).headSize,
    };
    fusedAttention([...operands.slice(0, 5), operands[6] ?? ""], { ...attributes, ...totals }, lowering);
  },
  deltaAttention: ({ attributes: { heads, scale } }, operands, lowering) => {
    const { model, results } = lowering;
    model.node("LinearAttention", operands, {
      domain: CONTRIB_DOMAIN,
      attributes: {
        q_num_heads: heads,
        kv_num_heads: heads,
        update_rule: "gated_delta",
        scale: { float: scale },
      },
      outputs: results,
    });
  },
  gatedAttention: ({ attributes: { keyHeads, heads } }, operands, { model, results }) => {
    model.node("LinearAttention", operands, {
      domain: CONTRIB_DOMAIN,
      attributes: {
        q_num_heads: keyHeads,
        kv_num_heads: heads,
        update_rule: "gated",
        scale: { float: 1 },
      },
      outputs: results,
    });
  },
  unitLowerInverse: ({ inputs }, [a = ""], { model, results }) => {
    const name = unitLowerInverse(model, a, Number(dimensionAt(present(inputs[0], "a matrix").shape, -1)));
    model.node("Identity", [name], { outputs: results });
  },
  deltaScan: ({ inputs }, operands, { model, results }) => {
    const { result } = deltaScan(model, deltaOperands(operands), deltaSizes(inputs, model));
    model.node("Identity", [result], { outputs: results });
  },
  deltaScanGradient: ({ inputs }, operands, { model, results }) => {
    const gradient = present(operands[6], "the gradient of the result");
    const names = deltaScanGradient(model, deltaOperands(operands), {
      gradient,
      sizes: deltaSizes(inputs, model),
    });
    for (const [index, result] of results.entries())
      if (result !== "") model.node("Identity", [names[index]], { outputs: [result] });
  },
  blockedAttention: ({ inputs, attributes }, [q = "", k = "", v = ""], { model, results }) => {
    const name = blockedAttention(
      model,
      { q, k, v },
      { ...attributes, ...queriesOf(inputs, attributes, model) },
    );
    model.node("Identity", [name], { outputs: results });
  },
  blockedAttentionGradient: ({ inputs, attributes }, operands, { model, results }) => {
    const [q = "", k = "", v = "", attended = "", gradient = ""] = operands;
    const values = { q, k, v, attended, gradient };
    const shape = { ...attributes, ...queriesOf(inputs, attributes, model) };
    const names = blockedAttentionGradient(model, values, shape);
    for (const [index, result] of results.entries())
      if (result !== "") model.node("Identity", [present(names[index], "a gradient")], { outputs: [result] });
  },
};

function deltaOperands([
  u = "",
  w = "",
  q = "",
  p = "",
  k = "",
  decay = "",
]: readonly string[]): DeltaOperands {
  return { u, w, q, p, k, decay };
}

/** Returns the number of chunks, and the shape of a delta rule's state. */
function deltaSizes([u, w]: readonly Value[], model: OnnxModelWriter): DeltaSizes {
  const [count, rows, heads, , valueSize] = u.shape;
  return {
    count: model.dimension(count),
    state: model.shape([rows, heads, dimensionAt(w.shape, 4), valueSize]),
  };
}

/** Adds the used results of log-probabilities under logits. */
function emitLogprobs(
  operands: { readonly ids: string; readonly scores: Scores },
  { model, results }: Lowering,
): void {
  const wanted = { entropy: Boolean(results[1]), slopes: Boolean(results[2]) };
  const names = linearLogprob(model, operands, wanted);
  for (const [index, result] of results.entries())
    if (result !== "") model.node("Identity", [present(names[index], "a result")], { outputs: [result] });
}

/** Returns the query shape for attention in blocks, for queries [B, T, Hq*K]. */
function queriesOf(
  [queries]: readonly Value[],
  { queryHeads }: { readonly queryHeads: number },
  model: OnnxModelWriter,
): QueryShape {
  const { shape } = present(queries, "queries");
  const width = dimensionAt(shape, 2);
  assert(typeof width === "number", "the width of queries is known");
  return { headSize: width / queryHeads, length: model.dimension(dimensionAt(shape, 1)) };
}

function emit(
  { model, results }: Lowering,
  operation: string,
  operands: readonly string[],
  options: OnnxNodeOptions = {},
): void {
  model.node(operation, operands, { ...options, outputs: results });
}

function direct(operation: string, options: OnnxNodeOptions = {}): LoweringRule<OpKind> {
  return (_, operands, lowering) => emit(lowering, operation, operands, options);
}

function reduction(operation: string): LoweringRule<"reduceSum" | "reduceMean" | "reduceMax"> {
  return ({ attributes: { axes, keepDimensions } }, operands, lowering) => {
    const axisVector = lowering.model.constant("int64", [axes.length], axes);
    emit(lowering, operation, [...operands, axisVector], {
      attributes: { keepdims: keepDimensions ? 1 : 0 },
    });
  };
}

/**
 * Returns a constant target shape (0 copies the operand's size, one -1 is inferred); undefined if no constant shape
 * fits.
 */
function reshapeTarget(from: Shape, to: Shape): readonly number[] | undefined {
  const target = to.map((size, axis) => {
    if (typeof size === "number") return size;
    return size === from[axis] ? 0 : -1;
  });
  return target.filter((size) => size === -1).length <= 1 ? target : undefined;
}
