// The only definition of the decoder, for serving and training, for every architecture that ModelConfig describes.
// Callers supply attention, the inputs of convolutions, and the application of projections. This module does not
// depend on caches, losses or sessions.
import { assert, present, unreachable } from "../../base/domain/assert.ts";
import type { ProjectionName } from "../../base/domain/model.ts";
import type { GraphBuilder } from "../../lib/graph/builder.ts";
import type { Dimension } from "../../lib/graph/dimension.ts";
import type { Value } from "../../lib/graph/graph.ts";
import { recomputed } from "../../lib/graph/recompute.ts";
import {
  headsOf,
  rotarySizeOf,
  type AttentionLayer,
  type CacheShape,
  type LayerConfig,
  type ModelConfig,
} from "./config.ts";
import { expertNames } from "./experts/expert-parameters.ts";
import { type ExpertLinear, expertMixture } from "./experts/mixture.ts";
import { layerEmbeddings } from "./layer-embedding.ts";
import { asRows, capped, type DeclaredWeights, type Linear } from "./linear.ts";
import { type NormName, normPath } from "./module-names.ts";
import { mambaOutput } from "./recurrent/mamba.ts";
import { finalNormName, layerScaleName, outputProjection, projection, sinksName } from "./parameters.ts";
import { trainedParts, weightParts, type WeightForms } from "./quantized/weight-forms.ts";
import { type RecurrenceInputs, softplus } from "./recurrent/recurrence.ts";
import { convolutionPath, convolutionWidth, recurrenceNames } from "./recurrent/state-layers.ts";

/** Keys and values of some tokens, [B, T, Hkv*K]; keys after the rotary embedding. */
export interface KeysAndValues {
  readonly k: Value;
  readonly v: Value;
}

/** Inputs of attention, after the rotary embedding: q [B, T, Hq*K]; k and v may be those of an earlier layer. */
export interface AttentionInputs extends KeysAndValues {
  readonly layer: number;
  readonly layerConfig: AttentionLayer;
  /** Attention sink (an additional score in the softmax) of each query head, [Hq]; absent if the model has none. */
  readonly sinks?: Value;
  /** Heads of keys and values. */
  readonly heads: CacheShape;
  readonly q: Value;
}

/** Input of a layer's convolution: x [B, T, W]. */
export interface ConvolutionInputs {
  readonly layer: number;
  readonly x: Value;
}

export interface DecoderParts {
  /** Returns a weight that does not belong to a projection, by its name in `modelParameters`. */
  readonly weight: (name: string) => Value;
  /** Maps tokens [B, T] to their rows [B, T, D] of the embedding `table`. The default table is the token embedding. */
  readonly embed: (tokens_BT: Value, table?: string) => Value;
  readonly linear: Linear;
  readonly expertLinear: ExpertLinear;
  /** Returns the cosines and sines of `config.rotaries[index]`. */
  readonly rotaryTables: (index: number) => RotaryTables;
  readonly tokens_BT: Value;
  /** Positions, int64 [B, T], each in [0, contextLength). */
  readonly positions_BT: Value;
  /**
   * Computes attention and returns the attended values [B, T, Hq*K]. Marks the intermediate values that should be kept
   * for the gradient.
   */
  readonly attend: (inputs: AttentionInputs) => Value;
  /**
   * Returns one value [B, T, D] for each element of the kernel. The first has the inputs from kernel size - 1 positions
   * earlier, and the last has the inputs of the output's own position. Inputs before the first position are 0.
   */
  readonly taps: (inputs: ConvolutionInputs) => readonly Value[];
  /** Returns the values that the tokens read from the state of a layer's recurrence, [B, T, H*V]. */
  readonly recall: (inputs: RecurrenceInputs & { readonly layer: number }) => Value;
  /**
   * If true, the gradient recomputes a layer's intermediate values from the inputs of its matrix products instead of
   * keeping all of them. No effect without a gradient.
   */
  readonly recomputesLayers?: boolean;
  /**
   * Selects from x [B, T, D] the rows whose results are needed. The last layer computes everything after attention only
   * for these rows.
   */
  readonly selectRows: (x_BTD: Value) => Value;
}

/** Cosines and sines of rotary angles, each [positions, rotarySize/2]. */
export interface RotaryTables {
  readonly cos: Value;
  readonly sin: Value;
}

/**
 * Adds the decoder to a graph.
 *
 * @returns the logits of the selected rows, [...rows, V]
 */
export function addDecoder(builder: GraphBuilder, config: ModelConfig, parts: DecoderParts): Value {
  return addLogits(builder, config, parts, addDecoderLayers(builder, config, parts));
}

/** Adds the output projection to the result of {@link addDecoderLayers}. */
export function addLogits(
  builder: GraphBuilder,
  config: ModelConfig,
  { linear }: Pick<DecoderParts, "linear">,
  hidden: Value,
): Value {
  return capped(builder, linear(outputProjection(config), hidden), config.logitCap);
}

/**
 * Adds the decoder without its output projection.
 *
 * @returns input of the output projection for the selected rows, [...rows, D]
 */
export function addDecoderLayers(builder: GraphBuilder, config: ModelConfig, parts: DecoderParts): Value {
  let hidden = parts.embed(parts.tokens_BT);
  hidden = scaled(builder, hidden, config.embeddingScale);
  const embeddingOf = layerEmbeddings(builder, config, parts, hidden);
  const shared = new Map<number, KeysAndValues>();
  for (const [layer, layerConfig] of config.layers.entries()) {
    const block = new DecoderLayer(builder, config, parts, layer);
    const isLast = layer === config.layers.length - 1;
    const rows = isLast ? parts.selectRows : (x: Value): Value => x;
    const embedding = embeddingOf === null ? null : rows(embeddingOf(layer));
    if (layerConfig.kind === "attention" && isKeysSource(config, layer))
      shared.set(layer, block.keysAndValues(hidden, layerConfig));
    const earlier = shared.get(
      (layerConfig.kind === "attention" ? layerConfig.keysFrom : undefined) ?? layer,
    );
    const compute = (...[residual, k, v]: readonly Value[]): Value => {
      if (layerConfig.kind === "feed-forward") return block.feedForward(rows(residual), embedding);
      const mixed = block.mixed(residual, layerConfig, earlier === undefined ? null : { k, v });
      const middle = block.afterMixing(rows(residual), rows(mixed));
      return layerConfig.isAlone === true ? middle : block.feedForward(middle, embedding);
    };
    // Keys and values that several layers share get gradients from all of these layers, so each layer's recomputed part
    // takes them as inputs.
    const inputs = earlier === undefined ? [hidden] : [hidden, earlier.k, earlier.v];
    hidden = parts.recomputesLayers ? recomputed(builder, inputs, compute) : compute(...inputs);
  }
  const normed = builder.rmsNorm(hidden, parts.weight(finalNormName(config)), config.normEpsilon);
  // The output projection is linear, so Hone scales its input, which is smaller than its output.
  return scaled(builder, normed, config.logitScale);
}

/** True if later layers attend to the keys and values of this one. */
function isKeysSource({ layers }: ModelConfig, layer: number): boolean {
  return layers.some((other) => other.kind === "attention" && other.keysFrom === layer);
}

function scaled(builder: GraphBuilder, x: Value, scale: number): Value {
  return scale === 1 ? x : builder.multiply(x, scale);
}

export interface DeclareOptions {
  readonly forms?: WeightForms;
  /** True to declare only the tensors that training needs. Default false. */
  readonly isTrained?: boolean;
}

/**
 * Declares every tensor of every weight, in the order of `modelParameters`. The tensors are either parameters that the
 * graph's session holds, or float32 inputs of each run.
 */
export function declareWeights(
  builder: GraphBuilder,
  config: ModelConfig,
  kind: "parameters" | "inputs",
  { forms = new Map(), isTrained = false }: DeclareOptions = {},
): DeclaredWeights {
  assert(kind === "parameters" || forms.size === 0, "weights that are inputs are float32");
  const values = (isTrained ? trainedParts : weightParts)(config, forms).map(
    ({ name, dtype, shape }) =>
      [
        name,
        kind === "inputs" ? builder.input(name, dtype, shape) : builder.parameter(name, shape, dtype),
      ] as const,
  );
  return { values: new Map(values), forms };
}

/** Returns the parameter names of a rotary embedding's cosines and sines. */
export function rotaryTableNames(index: number): { readonly cos: string; readonly sin: string } {
  return { cos: `rotary.${index}.cosines`, sin: `rotary.${index}.sines` };
}

/** True for the names that {@link rotaryTableNames} returns. */
export function isRotaryTable(name: string): boolean {
  return /^rotary\.\d+\.(cosines|sines)$/.test(name);
}

/** Declares the cosines and sines of every rotary embedding as parameters. */
export function addRotaryTables(builder: GraphBuilder, config: ModelConfig): readonly RotaryTables[] {
  return config.rotaries.map((_, index) => {
    const shape = [config.contextLength, rotarySizeOf(config, index) / 2];
    const { cos, sin } = rotaryTableNames(index);
    return { cos: builder.parameter(cos, shape), sin: builder.parameter(sin, shape) };
  });
}

/**
 * Epsilon that is added to the sum of squares when a delta rule's queries and keys are scaled to length one, as in
 * Transformers.
 */
const unitEpsilon = 1e-6;

/**
 * Computes one layer. For a gradient it keeps only the results of matrix products, which are expensive to recompute;
 * norms, activations and similar operations are cheap.
 */
class DecoderLayer {
  readonly #builder: GraphBuilder;
  readonly #config: ModelConfig;
  readonly #parts: DecoderParts;
  readonly #layer: number;

  constructor(builder: GraphBuilder, config: ModelConfig, parts: DecoderParts, layer: number) {
    this.#builder = builder;
    this.#config = config;
    this.#parts = parts;
    this.#layer = layer;
  }

  /**
   * Computes the layer's attention, convolution, delta rule or Mamba-2 from the residual stream [B, T, D]. The result
   * is the input of the layer's output projection.
   *
   * @param given keys and values if other layers use them too; null otherwise, so that they are computed here
   */
  mixed(
    hidden: Value,
    layerConfig: Exclude<LayerConfig, { readonly kind: "feed-forward" }>,
    given: KeysAndValues | null,
  ): Value {
    switch (layerConfig.kind) {
      case "attention":
        return this.#attention(hidden, layerConfig, given);
      case "convolution":
        return this.#convolution(hidden);
      case "delta":
        return this.#delta(hidden);
      case "mamba":
        return this.#mamba(hidden);
      default:
        return unreachable(layerConfig);
    }
  }

  /** Computes the heads' attended values [B, T, Hq*K]. */
  #attention(hidden: Value, layerConfig: AttentionLayer, given: KeysAndValues | null): Value {
    const x = this.#input(hidden);
    const { queries, gate } = this.#queries(x);
    const attended = this.#parts.attend({
      layer: this.#layer,
      layerConfig,
      heads: headsOf(this.#config, this.#layer),
      ...(this.#config.hasSinks && { sinks: this.#parts.weight(sinksName(this.#layer)) }),
      q: this.#rotated("q_norm", queries, layerConfig.queryRotary ?? layerConfig.rotary),
      ...(given ?? this.keysAndValues(hidden, layerConfig)),
    });
    return gate === null ? attended : this.#builder.multiply(attended, this.#builder.sigmoid(gate));
  }

  keysAndValues(hidden: Value, { rotary, hasSharedValues = false }: AttentionLayer): KeysAndValues {
    const x = this.#input(hidden);
    const keys = this.#linear("k_proj", x);
    const values = this.#builder.kept(hasSharedValues ? keys : this.#linear("v_proj", x));
    return { k: this.#rotated("k_norm", keys, rotary), v: this.#valueNormed(values) };
  }

  /** Normalises each head of values [B, T, Hkv*K] if the model has a norm for values. */
  #valueNormed(values: Value): Value {
    if (!this.#config.hasValueNorm) return values;
    const builder = this.#builder;
    const { headSize, kvHeadCount } = headsOf(this.#config, this.#layer);
    const [rows, length] = values.shape as [Dimension, Dimension];
    const heads = builder.reshape(values, [rows, length, kvHeadCount, headSize]);
    const normed = builder.rmsNorm(heads, builder.full([headSize], 1), this.#config.normEpsilon);
    return builder.reshape(normed, values.shape);
  }

  /** Returns the queries [B, T, Hq*K], and the gate of the same shape if the model has one. */
  #queries(x: Value): { readonly queries: Value; readonly gate: Value | null } {
    const builder = this.#builder;
    const projected = this.#linear("q_proj", x);
    if (!this.#config.hasAttentionGate) return { queries: projected, gate: null };
    const { headCount } = this.#config;
    const { headSize } = headsOf(this.#config, this.#layer);
    const [rows, length] = projected.shape as [Dimension, Dimension];
    const heads = builder.reshape(builder.kept(projected), [rows, length, headCount, 2 * headSize]);
    const half = (from: number): Value =>
      builder.reshape(builder.slice(heads, -1, from, from + headSize), [rows, length, headCount * headSize]);
    return { queries: half(0), gate: half(headSize) };
  }

  /** Computes the gated convolution [B, T, D]. */
  #convolution(hidden: Value): Value {
    const builder = this.#builder;
    const projected = builder.kept(this.#linear("in_proj", this.#input(hidden)));
    const { width } = this.#config;
    const [before, after, x] = [0, 1, 2].map((part) =>
      builder.slice(projected, -1, part * width, (part + 1) * width),
    );
    const taps = this.#parts.taps({ layer: this.#layer, x: builder.multiply(before, x) });
    return builder.multiply(after, this.#convolved(taps));
  }

  /**
   * Computes a convolution. Each of the `taps` has the inputs at one distance; it is multiplied by the kernel's element
   * for that distance, and the products are summed.
   */
  #convolved(taps: readonly Value[]): Value {
    const builder = this.#builder;
    const path = convolutionPath(this.#config, this.#layer);
    const kernels = this.#parts.weight(`${path}.weight`);
    const { convolution } = this.#config;
    const width = convolutionWidth(this.#config, this.#layer);
    const products = taps.map((tap, place) =>
      builder.multiply(tap, builder.reshape(builder.slice(kernels, 2, place, place + 1), [width])),
    );
    const sum = products.reduce((total, product) => builder.add(total, product));
    return convolution?.hasBias === true ? builder.add(sum, this.#parts.weight(`${path}.bias`)) : sum;
  }

  /**
   * Computes the gated output [B, T, H*V] of the delta rule. Queries and keys are scaled to length one. Each of their
   * heads serves several consecutive heads of values.
   */
  #delta(hidden: Value): Value {
    const builder = this.#builder;
    const { keyHeads, valueHeads, keySize, valueSize } = present(this.#config.delta, "a delta rule");
    const x = this.#input(hidden);
    const mixed = builder.kept(this.#linear("in_proj_qkv", x));
    const convolved = builder.silu(this.#convolved(this.#parts.taps({ layer: this.#layer, x: mixed })));
    const [rows, length] = x.shape as [Dimension, Dimension];
    const keyWidth = keyHeads * keySize;
    // Scaling to length one, x / √(Σ x² + ε), is computed as a norm. A norm adds its epsilon to the mean of the
    // squares, so ε is divided by the head's size.
    const unit = builder.full([keySize], 1 / Math.sqrt(keySize));
    const heads = (from: number): Value => {
      const own = builder.slice(convolved, -1, from, from + keyWidth);
      const byHead = builder.reshape(own, [rows, length, keyHeads, keySize]);
      const normed = builder.rmsNorm(byHead, unit, unitEpsilon / keySize);
      const shared = builder.reshape(normed, [rows, length, keyHeads, 1, keySize]);
      const repeated = builder.expand(shared, [rows, length, keyHeads, valueHeads / keyHeads, keySize]);
      return builder.reshape(repeated, [rows, length, valueHeads * keySize]);
    };
    const recalled = this.#parts.recall({
      layer: this.#layer,
      q: heads(0),
      k: heads(keyWidth),
      v: builder.slice(convolved, -1, 2 * keyWidth, 2 * keyWidth + valueHeads * valueSize),
      logDecay: this.#logDecay(x),
      strength: builder.sigmoid(builder.kept(this.#linear("in_proj_b", x))),
    });
    const byHead = builder.reshape(recalled, [rows, length, valueHeads, valueSize]);
    const weight = this.#parts.weight(recurrenceNames(this.#config, this.#layer).norm);
    const normed = builder.rmsNorm(byHead, weight, this.#config.normEpsilon);
    const gate = builder.silu(builder.kept(this.#linear("in_proj_z", x)));
    return builder.multiply(builder.reshape(normed, recalled.shape), gate);
  }

  /** Computes the natural log of the factor by which the state decays: −exp(A) · softplus(a + bias), [B, T, H]. */
  #logDecay(x: Value): Value {
    const builder = this.#builder;
    const { decay, stepBias } = recurrenceNames(this.#config, this.#layer);
    const a = builder.kept(this.#linear("in_proj_a", x));
    const step = softplus(builder, builder.add(a, this.#parts.weight(stepBias)));
    return builder.multiply(step, builder.negate(builder.exp(this.#parts.weight(decay))));
  }

  /** Computes the normalised output of Mamba-2. */
  #mamba(hidden: Value): Value {
    return mambaOutput(
      this.#builder,
      this.#config,
      this.#builder.kept(this.#linear("in_proj", this.#input(hidden))),
      {
        convolved: (x) => this.#convolved(this.#parts.taps({ layer: this.#layer, x })),
        recall: (inputs) => this.#parts.recall({ layer: this.#layer, ...inputs }),
        weight: (name) => this.#parts.weight(recurrenceNames(this.#config, this.#layer)[name]),
      },
    );
  }

  /** Adds the projected result of {@link DecoderLayer.mixed} to the residual stream, row by row. */
  afterMixing(residual: Value, mixed: Value): Value {
    return this.#builder.add(
      residual,
      this.#added("post_attention_layernorm", this.#linear(this.#outputName(), mixed)),
    );
  }

  /**
   * Adds the feed-forward sublayer to the residual stream, row by row.
   *
   * @param embedding the layer's part of the additional embedding; null if the model has none
   */
  feedForward(residual: Value, embedding: Value | null): Value {
    const { hasInputNorms, hasOutputNorms, hasLayerScales, layers } = this.#config;
    const builder = this.#builder;
    const middle = hasOutputNorms ? residual : builder.kept(residual);
    const isLayer = layers[this.#layer].kind === "feed-forward";
    const usualNorm = hasOutputNorms ? "pre_feedforward_layernorm" : "post_attention_layernorm";
    const inputNorm = isLayer ? "input_layernorm" : usualNorm;
    const x = hasInputNorms ? this.#norm(inputNorm, middle) : middle;
    const added = builder.add(middle, this.#added("post_feedforward_layernorm", this.#feedForward(x)));
    const result = embedding === null ? added : this.#withEmbedding(added, embedding);
    return hasLayerScales
      ? builder.multiply(result, this.#parts.weight(layerScaleName(this.#layer)))
      : result;
  }

  /** Computes the feed-forward part: dense, experts that a router chooses, or both. */
  #feedForward(x: Value): Value {
    const { experts } = this.#config.layers[this.#layer];
    if (experts === undefined) return this.#dense(x);
    const builder = this.#builder;
    const rows = asRows(builder, x);
    const routed = expertMixture(builder, this.#config, this.#layer, { x: rows, ...this.#parts });
    if (experts === "routed") return builder.reshape(routed, x.shape);
    const weight = this.#parts.weight(expertNames(this.#config, this.#layer).sharedGate);
    const factor = builder.sigmoid(builder.kept(builder.matMul(rows, weight, { transposeB: true })));
    const shared = builder.multiply(this.#dense(rows), factor);
    return builder.reshape(builder.add(routed, shared), x.shape);
  }

  #dense(x: Value): Value {
    return this.#linear("down_proj", this.#activated(x));
  }

  /** Computes the input of the feed-forward sublayer's last projection. */
  #activated(x: Value): Value {
    const builder = this.#builder;
    if (!this.#config.hasFeedForwardGate) return this.#activation(builder.kept(this.#linear("up_proj", x)));
    const gate = builder.kept(this.#linear("gate_proj", x));
    const up = builder.kept(this.#linear("up_proj", x));
    return builder.multiply(this.#activation(gate), up);
  }

  /**
   * Multiplies the layer's embedding by a gate computed from the residual stream, and adds the result to that stream.
   */
  #withEmbedding(x: Value, embedding: Value): Value {
    const builder = this.#builder;
    const gate = this.#activation(builder.kept(this.#linear("per_layer_input_gate", x)));
    const projected = builder.kept(this.#linear("per_layer_projection", builder.multiply(gate, embedding)));
    return builder.add(x, this.#norm("post_per_layer_input_norm", projected));
  }

  #activation(x: Value): Value {
    const builder = this.#builder;
    const { activation } = this.#config;
    switch (activation) {
      case "silu":
        return builder.silu(x);
      case "gelu-tanh":
        return builder.geluTanh(x);
      case "relu-squared": {
        const positive = builder.maximum(x, 0);
        return builder.multiply(positive, positive);
      }
      default:
        return unreachable(activation);
    }
  }

  #outputName(): ProjectionName {
    return this.#config.layers[this.#layer].kind === "attention" ? "o_proj" : "out_proj";
  }

  /**
   * Returns the input of the layer's first projections: the residual stream, normalised if the model has input norms.
   */
  #input(hidden: Value): Value {
    return this.#config.hasInputNorms ? this.#norm("input_layernorm", hidden) : hidden;
  }

  /**
   * Converts a sublayer's output to its contribution to the residual stream: normalises it if the model has output
   * norms, and scales it.
   */
  #added(outputNorm: NormName, x: Value): Value {
    const { hasOutputNorms, residualScale } = this.#config;
    const normed = hasOutputNorms ? this.#norm(outputNorm, this.#builder.kept(x)) : x;
    return scaled(this.#builder, normed, residualScale);
  }

  #norm(name: NormName, x: Value): Value {
    const weight = this.#parts.weight(`${normPath(this.#config.architecture, this.#layer, name)}.weight`);
    return this.#builder.rmsNorm(x, weight, this.#config.normEpsilon);
  }

  /**
   * Returns queries or keys [B, T, H*K] for attention. The norm and the rotation are applied only if the model has
   * them.
   */
  #rotated(norm: "q_norm" | "k_norm", x: Value, rotary: number | null): Value {
    const builder = this.#builder;
    const rotate = (heads: Value): Value => (rotary === null ? heads : this.#turned(heads, rotary, headSize));
    const { queryKeyNorm } = this.#config;
    const { headSize } = headsOf(this.#config, this.#layer);
    if (queryKeyNorm === "none") return builder.kept(rotate(x));
    if (queryKeyNorm === "all-heads") return rotate(this.#norm(`self_attn.${norm}`, builder.kept(x)));
    const [rows, length, width] = x.shape as [Dimension, Dimension, number];
    const heads = builder.reshape(builder.kept(x), [rows, length, width / headSize, headSize]);
    return rotate(builder.reshape(this.#norm(`self_attn.${norm}`, heads), x.shape));
  }

  /** Rotates heads [B, T, H*K] by position. */
  #turned(x: Value, rotary: number, headSize: number): Value {
    const builder = this.#builder;
    const tables = this.#parts.rotaryTables(rotary);
    const positions = this.#parts.positions_BT;
    const { kind } = this.#config.rotaries[rotary].scaling;
    const size = rotarySizeOf(this.#config, rotary);
    if (kind !== "proportional" || size === headSize)
      return builder.rotary(x, positions, { ...tables, headSize });
    // Only the first dimensions of each half of a head are rotated; joined, they are rotated like a smaller head.
    const [rows, length, width] = x.shape as [Dimension, Dimension, number];
    const count = width / headSize;
    const halves = builder.reshape(x, [rows, length, count, 2, headSize / 2]);
    const first = builder.slice(halves, -1, 0, size / 2);
    const heads = builder.reshape(first, [rows, length, count * size]);
    const turned = builder.rotary(heads, positions, { ...tables, headSize: size });
    const rest = builder.slice(halves, -1, size / 2, headSize / 2);
    return builder.reshape(builder.concat([builder.reshape(turned, first.shape), rest], -1), x.shape);
  }

  #linear(name: ProjectionName, x: Value): Value {
    return this.#parts.linear(projection(this.#config, this.#layer, name), x);
  }
}
