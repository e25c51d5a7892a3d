/**
 * A tensor program as an immutable value: operations in topological order, built with `GraphBuilder`. An operation's
 * kind determines its attributes (`OpAttributes`). Shapes, gradients, lowering and interpretation each have a record
 * with one rule per kind, so that a missing rule does not compile.
 */
import type { Dimension, Shape } from "./dimension.ts";

/** Element type. The 8-bit types occur only in parameters and constants, not in inputs. */
export type DataType = "float32" | "int64" | "int32" | "int8" | "uint8" | "bool";

/** Type of a tensor, known before the program runs. */
export interface TensorType {
  readonly dtype: DataType;
  readonly shape: Shape;
}

/** A handle to one tensor of a program, which may still be under construction. */
export interface Value extends TensorType {
  /** Unique in its builder; ascending ids are a topological order. */
  readonly id: number;
}

type None = Readonly<Record<string, never>>;

/** Attributes by operation kind. `dtype` and `shape` appear only if the inputs do not determine them. */
export interface OpAttributes {
  // Operations without operands.
  readonly input: TensorType & { readonly name: string };
  /** A weight; the session gets its data by name. */
  readonly parameter: TensorType & { readonly name: string };
  /** A small tensor within the program, row-major; booleans are 0 and 1. */
  readonly constant: TensorType & { readonly values: readonly number[] };
  /** 0, 1, …, length-1 as int64. */
  readonly iota: { readonly length: Dimension };

  // Elementwise, one operand.
  readonly negate: None;
  readonly exp: None;
  readonly log: None;
  readonly sqrt: None;
  readonly tanh: None;
  readonly sigmoid: None;
  /** x · sigmoid(x). */
  readonly silu: None;
  /** The tanh approximation of GELU. */
  readonly geluTanh: None;
  readonly not: None;
  readonly cast: { readonly dtype: DataType };
  readonly clip: { readonly minimum: number; readonly maximum: number };
  readonly stopGradient: None;

  // Elementwise, with several operands that are broadcast.
  readonly add: None;
  readonly subtract: None;
  readonly multiply: None;
  readonly divide: None;
  readonly maximum: None;
  readonly minimum: None;
  readonly less: None;
  readonly lessOrEqual: None;
  readonly greater: None;
  readonly greaterOrEqual: None;
  readonly equal: None;
  readonly and: None;
  readonly or: None;
  /** (condition, then, otherwise), elementwise. */
  readonly where: None;

  // Rematerialization; see recompute.ts.
  /** (x, ...signals) → x, but only after the signals have been computed. */
  readonly after: None;
  /** (x) → x; the value is kept when the gradient recomputes the operations around it. */
  readonly kept: None;
  /**
   * (result, ...inputs, ...captured) → result. The gradient recomputes the operations between the inputs and the
   * result.
   */
  readonly recomputed: { readonly inputCount: number };

  // Operations that only move or copy elements.
  readonly reshape: { readonly shape: Shape };
  readonly transpose: { readonly permutation: readonly number[] };
  readonly concat: { readonly axis: number };
  readonly slice: {
    readonly axis: number;
    readonly start: Dimension;
    readonly end: Dimension;
  };
  readonly expand: { readonly shape: Shape };

  // Reductions over axes.
  readonly reduceSum: Reduction;
  readonly reduceMean: Reduction;
  readonly reduceMax: Reduction;

  // Linear algebra.
  /** alpha · op(a) · op(b) over the last two axes, batched and broadcast over the others. */
  readonly matMul: {
    readonly transposeA: boolean;
    readonly transposeB: boolean;
    readonly alpha: number;
  };
  /** (a [M, K], b [N, K], c [M, N]) → c + alpha · a · bᵀ, without a separate pass for the sum. */
  readonly gemm: { readonly alpha: number };

  /**
   * (x [..., K], weight codes [K, N], scales [N]) → x · (weight · scales).
   * - Codes are int8, or uint8 with a zero point of 128; both give the same bits.
   * - Each row of x is rounded to 127 steps per sign up to its largest magnitude. The sums are integers, so a row's
   * result is the same in any batch.
   */
  readonly int8MatMul: None;
  /**
   * (x [M, N], weight codes [K, N], scales [N]) → (x · scales) · weightᵀ [M, K], the gradient of `int8MatMul`. Each row
   * of x · scales is rounded as by `int8MatMul`.
   */
  readonly int8BackMatMul: None;
  /**
   * (x [..., K], codes uint8 [N, K/32, 16], scales [N, K/32]) → x · Wᵀ, W = (code − 8) · scale, with two codes per
   * byte, the first in its lower half. Each 32 numbers of x are rounded to 127 steps up to their largest magnitude.
   * Serving only: it has no gradient.
   */
  readonly int4MatMul: None;

  /**
   * (x [P, K], experts int64 [P], ...parts of E weights [N, K]) → [P, N]: row p is x_p · Wᵀ, with the weight W of row
   * p's expert.
   * - Parts: float32 weights [E, N, K], or 8-bit codes [E, K, N] and scales [E, N], multiplied as by `int8MatMul`.
   * - Each product has `tileRows` rows of one expert, so that a row's result does not depend on the number of rows.
   * - With `isTransposed`, computes x [P, N] · W → [P, K] instead, without rounding x.
   */
  readonly expertMatMul: {
    readonly tileRows: number;
    readonly isTransposed: boolean;
  };

  // Operations that read or write rows of a table by index.
  /** (table [N, …rest], ids [any]) → [...ids, ...rest]. */
  readonly gatherRows: None;
  /** (table [K, N], ids [any]) → [...ids, K]: the columns at `ids`. It has no gradient. */
  readonly gatherColumns: None;
  /**
   * (table [N, …rest], ids [any], places [N]) → [...ids, ...rest]: the rows at `ids`. For each row of the table,
   * `places` has the index in the flat `ids` from which the row takes its gradient. With `isPartial`, an index one past
   * the end means no gradient.
   */
  readonly moveRows: { readonly isPartial: boolean };
  /**
   * (table [N, …rest], rows [M, …rest], ids [M]) → the table with its rows at `ids` replaced by `rows`; rows with the
   * same id are equal.
   */
  readonly placeRows: None;
  /** (updates [N, D], ids [N]) → [rows, D]: sums the updates of equal ids. */
  readonly scatterAddRows: { readonly rows: Dimension };
  /** (x [..., N], ids [..., M]) → [..., M]: picks along the last axis. */
  readonly gatherLast: None;
  /** (x [..., N]) → int64 [..., count]: indices of the largest elements along the last axis, largest first. */
  readonly topIds: { readonly count: number };

  // Operations along the last axis.
  readonly softmax: None;
  readonly logSoftmax: None;
  /** (logits [..., V], ids [...]) → [...]: log-softmax at one id per row. */
  readonly tokenLogprob: None;
  /**
   * (x [N, D], weight [V, D], ids [N]) → (log-probabilities [N] of the ids under the scores x · weightᵀ, entropies [N]
   * in nats, and the gradients [N, D] of each log-probability with respect to its row of x). Computed in blocks of
   * rows: no tensor is N × V.
   */
  readonly linearLogprob: None;
  /**
   * (x [N, D], weight codes [D, V], scales [V], ids [N]) → like `linearLogprob` with the transpose of weight · scales.
   * Codes and the rounding of x are as for `int8MatMul`; probabilities are rounded to 16 bits for the gradients.
   */
  readonly int8LinearLogprob: None;
  /** (x [..., D], weight [D]) → x / rms(x) · weight; second output 1 / rms(x), [..., 1]. */
  readonly rmsNorm: { readonly epsilon: number };

  // Attention.
  /** (x [B, T, H*K], positions [B, T], cos [P, K/2], sin [P, K/2]) → x with the pairs (i, i + K/2) rotated. */
  /** `headSize` is at least twice the width of the tables; the remaining channels of a head are unchanged. */
  readonly rotary: { readonly inverse: boolean; readonly headSize: number };
  /**
   * (q [B, T, Hq*K], k [B, T, Hkv*K], v [B, T, Hkv*K]) → (attention [B, T, Hq*K], keys [B, Hkv, T, K], values [B, Hkv,
   * T, K]). Each row starts at its first token, and `window` 0 means unlimited; there is no gradient. A fourth
   * operand [Hq] is an additional score of each query head, which takes a part of the probability.
   */
  readonly causalAttention: FusedAttention;
  /**
   * (q [1, T, Hq*K], k and v [1, T, Hkv*K], past keys and values [1, Hkv, C, K], past length int64 [1]) → [1, T, Hq*K]:
   * tokens that continue after the filled part of a cache. Serving only. A seventh operand has the same meaning as the
   * fourth operand of `causalAttention`.
   */
  readonly continuedAttention: FusedAttention;
  /**
   * (q and k [B, T, H*K], v [B, T, H*V], state [B, H, K, V], log-decay g and write strength β [B, T, H]) → (o [B, T,
   * H*V], state after the last token). This is the gated delta rule (arXiv:2412.06464), for serving only.
   * - Each token computes S ← exp(g)·S, then S ← S + k (β·(v − Sᵀk))ᵀ, then o = scale · Sᵀq.
   */
  readonly deltaAttention: { readonly heads: number; readonly scale: number };
  /**
   * (q and k [B, T, G*K], v [B, T, H*V], state [B, H, K, V], log-decay g [B, T, H]) → (o [B, T, H*V], state after the
   * last token): linear attention with decay (arXiv:2405.21060), for serving only.
   * - Each token computes S ← exp(g)·S + k vᵀ, then o = Sᵀq. Each of G key heads serves consecutive value heads.
   */
  readonly gatedAttention: { readonly keyHeads: number; readonly heads: number };
  /** (a [..., C, C]) → the inverse of I + the strictly lower part of a; C is a power of two. */
  readonly unitLowerInverse: None;
  /**
   * (u [N, B, H, C, V], w, q and k [N, B, H, C, K], p [N, B, H, C, C], decay [N, B, H, 1, 1]) → o [N, B, H, C, V].
   * - Computes N chunks of a delta rule, one after another.
   * - The state S begins with zeros. Each chunk computes r = u − w S, then o = q S + p r, then S ← decay · S + kᵀ r.
   */
  readonly deltaScan: None;
  /** (the operands of `deltaScan`, the gradient of its result) → the gradients of the operands. */
  readonly deltaScanGradient: None;
  /**
   * (q [B, T, Hq*K], k [B, T, Hkv*K], v [B, T, Hkv*K]) → [B, T, Hq*K]: like `causalAttention`, for training. Computed
   * in blocks of queries, so no tensor is T × T.
   */
  readonly blockedAttention: FusedAttention;
  /**
   * (q, k, v, the attended values, the gradient with respect to the attended values) → the gradients with respect to q,
   * k and v. Computed in blocks, like `blockedAttention`.
   */
  readonly blockedAttentionGradient: FusedAttention;
}

interface FusedAttention {
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly scale: number;
  readonly window: number;
}

interface Reduction {
  readonly axes: readonly number[];
  readonly keepDimensions: boolean;
}

export type OpKind = keyof OpAttributes;

/** One operation. Narrow on `kind` to access its attributes. */
export type Node<K extends OpKind = OpKind> = {
  readonly [P in K]: {
    readonly kind: P;
    readonly inputs: readonly Value[];
    readonly attributes: OpAttributes[P];
    readonly outputs: readonly Value[];
  };
}[K];

export interface NamedValue {
  readonly name: string;
  readonly value: Value;
}

export interface Graph {
  /** Operations in topological order, including sources, without operations that no output needs. */
  readonly nodes: readonly Node[];
  /** Inputs in the order of their declaration, including unused ones. */
  readonly inputs: readonly NamedValue[];
  readonly parameters: readonly NamedValue[];
  readonly outputs: readonly NamedValue[];
}
