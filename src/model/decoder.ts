// The one definition of a decoder, for serving and for training, for every architecture that ModelConfig describes.
// How tokens attend and how projections are applied are parameters; caches, losses and sessions are not its concern.
import type { GraphBuilder } from "../graph/builder.ts";
import type { Dimension } from "../graph/dimension.ts";
import type { Value } from "../graph/graph.ts";
import type { LayerConfig, ModelConfig } from "./config.ts";
import type { Linear } from "./linear.ts";
import { embeddingName, modelParameters, outputProjection, projection } from "./parameters.ts";
import type { ProjectionName } from "./parameters.ts";

/** What attends: the rotary embedding is already applied. q [B, T, Hq*K]; k and v [B, T, Hkv*K]. */
export interface AttentionInputs {
  readonly layer: number;
  readonly layerConfig: LayerConfig;
  readonly q: Value;
  readonly k: Value;
  readonly v: Value;
}

export interface DecoderParts {
  /** The embedding or the weight of a norm, by its name in {@link modelParameters}. */
  readonly weight: (name: string) => Value;
  readonly linear: Linear;
  /** The tables of `config.rotaries[index]`. */
  readonly rotaryTables: (index: number) => RotaryTables;
  readonly tokens_BT: Value;
  /** int64 [B, T], each in [0, contextLength). */
  readonly positions_BT: Value;
  /** Returns the attended values [B, T, Hq*K]. */
  readonly attend: (inputs: AttentionInputs) => Value;
  /** Takes the rows that are wanted from [B, T, D]: in the last layer all else is computed for them alone. */
  readonly selectRows: (x_BTD: Value) => Value;
}

/** Cosines and sines, each [positions, K/2]. */
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
  let hidden = builder.gatherRows(parts.weight(embeddingName), parts.tokens_BT);
  if (config.embeddingScale !== 1) hidden = builder.multiply(hidden, config.embeddingScale);
  for (const [layer, layerConfig] of config.layers.entries()) {
    const block = new DecoderLayer(builder, config, parts, layer);
    const attended = block.attention(hidden, layerConfig);
    const isLast = layer === config.layers.length - 1;
    hidden = block.afterAttention(
      isLast ? parts.selectRows(hidden) : hidden,
      isLast ? parts.selectRows(attended) : attended,
    );
  }
  const normed = builder.rmsNorm(hidden, parts.weight("model.norm.weight"), config.normEpsilon);
  return parts.linear(outputProjection(config), normed);
}

/** Declares every weight in the order of {@link modelParameters}: held by the graph's session, or inputs of every run. */
export function declareWeights(
  builder: GraphBuilder,
  config: ModelConfig,
  kind: "parameters" | "inputs",
): ReadonlyMap<string, Value> {
  return new Map(
    modelParameters(config).map(({ name, shape }) => [
      name,
      kind === "inputs" ? builder.input(name, "float32", shape) : builder.parameter(name, shape),
    ]),
  );
}

/** The names of a rotary embedding's two tables among the parameters. */
export function rotaryTableNames(index: number): { readonly cos: string; readonly sin: string } {
  return { cos: `rotary.${index}.cosines`, sin: `rotary.${index}.sines` };
}

/** Declares the tables of every rotary embedding as parameters. */
export function addRotaryTables(builder: GraphBuilder, config: ModelConfig): readonly RotaryTables[] {
  const shape = [config.contextLength, config.headSize / 2];
  return config.rotaries.map((_, index) => {
    const { cos, sin } = rotaryTableNames(index);
    return { cos: builder.parameter(cos, shape), sin: builder.parameter(sin, shape) };
  });
}

/** One layer's computation, with what all its steps need at hand. */
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

  /** From the residual stream [B, T, D] to what the heads gathered [B, T, Hq*K]. */
  attention(hidden: Value, layerConfig: LayerConfig): Value {
    const x = this.#norm("input_layernorm", hidden);
    const rotate = (projected: Value): Value =>
      this.#builder.rotary(projected, this.#parts.positions_BT, this.#parts.rotaryTables(layerConfig.rotary));
    return this.#parts.attend({
      layer: this.#layer,
      layerConfig,
      q: rotate(this.#headNorm("q_norm", this.#linear("q_proj", x))),
      k: rotate(this.#headNorm("k_norm", this.#linear("k_proj", x))),
      v: this.#linear("v_proj", x),
    });
  }

  /** The rest of the layer, row by row: residual and attended values to the next residual. */
  afterAttention(residual: Value, attended: Value): Value {
    const { hasOutputNorms, activation } = this.#config;
    const builder = this.#builder;
    const projected = this.#linear("o_proj", attended);
    const attention = hasOutputNorms ? this.#norm("post_attention_layernorm", projected) : projected;
    const middle = builder.add(residual, attention);
    const x = this.#norm(hasOutputNorms ? "pre_feedforward_layernorm" : "post_attention_layernorm", middle);
    const gate = this.#linear("gate_proj", x);
    const activated = activation === "silu" ? builder.silu(gate) : builder.geluTanh(gate);
    const down = this.#linear("down_proj", builder.multiply(activated, this.#linear("up_proj", x)));
    return builder.add(middle, hasOutputNorms ? this.#norm("post_feedforward_layernorm", down) : down);
  }

  #norm(name: string, x: Value): Value {
    const weight = this.#parts.weight(`model.layers.${this.#layer}.${name}.weight`);
    return this.#builder.rmsNorm(x, weight, this.#config.normEpsilon);
  }

  /** Normalises every head of [B, T, H*K] by itself, where the architecture does. */
  #headNorm(name: string, x: Value): Value {
    if (!this.#config.hasQueryKeyNorm) return x;
    const { headSize } = this.#config;
    const [rows, length, width] = x.shape as [Dimension, Dimension, number];
    const heads = this.#builder.reshape(x, [rows, length, width / headSize, headSize]);
    return this.#builder.reshape(this.#norm(`self_attn.${name}`, heads), x.shape);
  }

  #linear(name: ProjectionName, x: Value): Value {
    return this.#parts.linear(projection(this.#config, this.#layer, name), x);
  }
}
