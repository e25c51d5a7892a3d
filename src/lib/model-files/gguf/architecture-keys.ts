// Checks the keys of a GGUF file's architecture: Hone must either use a key for the configuration, or know that its
// value changes nothing. Any other key is refused by name, because a model must never be computed as a different one.
import type { ServiceError } from "../../../base/domain/service-error.ts";
import type { GgufValue } from "./type-numbers.ts";
import type { GgufMetadata } from "./metadata.ts";

/** A key that Hone does not read, because its value usually does not affect results. */
interface HarmlessKey {
  /**
   * Returns true if the value does not affect results.
   *
   * @param value never null
   */
  readonly isHarmless: (value: GgufValue, context: KeyContext) => boolean;
  /** Part of the error message for a value that affects results; says what Hone computes instead. */
  readonly cure: string;
}

/** Properties of the model, with which `isHarmless` compares a key's value. */
export interface KeyContext {
  readonly headSize: number;
  readonly contextLength: number;
  readonly rotaryBase: number;
  readonly normEpsilon: number;
  /** The only supported `tensor_data_layout`. Reading restores the row order of q and k from this layout only. */
  readonly tensorLayout: string;
}

/** Keys that Hone reads for every architecture, without the architecture's name in front. */
const readKeys: ReadonlySet<string> = new Set([
  "context_length",
  "embedding_length",
  "block_count",
  "feed_forward_length",
  "attention.head_count",
  "attention.head_count_kv",
  "attention.key_length",
  "attention.layer_norm_rms_epsilon",
  "rope.freq_base",
  "rope.scaling.type",
  "rope.scaling.factor",
  "rope.scale_linear",
  "rope.scaling.attn_factor",
  "rope.scaling.original_context_length",
  "rope.scaling.yarn_ext_factor",
  "rope.scaling.yarn_attn_factor",
  "rope.scaling.yarn_beta_fast",
  "rope.scaling.yarn_beta_slow",
  "rope.scaling.yarn_log_multiplier",
]);

const isZero = (value: GgufValue): boolean => value === 0 || value === false;
const isZeroOrOne = (value: GgufValue): boolean => value === 0 || value === 1;
const isAny = (): boolean => true;

const dense: HarmlessKey = {
  isHarmless: (value) => isZero(value) || (Array.isArray(value) && value.every(isZero)),
  cure: "a mixture of experts is not computed; use a dense model",
};
const withoutScale = (what: string): HarmlessKey => ({
  isHarmless: isZeroOrOne,
  cure: `this architecture has no separate factor for ${what}`,
});
const headSized: HarmlessKey = {
  isHarmless: (value, { headSize }) => value === headSize,
  cure: "queries, keys and values of one size in every layer are computed",
};
const wholeHeads: HarmlessKey = {
  isHarmless: (value, { headSize }) => value === headSize,
  cure: "the rotary embedding of this architecture covers whole heads",
};

/** Keys that Hone does not read, without the architecture's name in front. */
const harmlessKeys: Readonly<Record<string, HarmlessKey>> = {
  // Not needed: the embedding and the list of tokens determine the size of the vocabulary.
  vocab_size: { isHarmless: isAny, cure: "" },
  // Hone always computes a text's embedding from the last token.
  pooling_type: {
    isHarmless: (value) => value === 0 || value === 3,
    cure: "embeddings of the last token are computed (0 or 3)",
  },
  tensor_data_layout: {
    isHarmless: (value, { tensorLayout }) => value === tensorLayout,
    cure: "tensors of this layout are not read",
  },
  use_parallel_residual: { isHarmless: isZero, cure: "parallel residuals are not computed" },
  nextn_predict_layers: { isHarmless: isZero, cure: "layers that predict further tokens are not read" },
  leading_dense_block_count: dense,
  expert_count: dense,
  expert_used_count: dense,
  expert_shared_count: dense,
  expert_group_count: dense,
  expert_group_used_count: dense,
  expert_feed_forward_length: dense,
  expert_shared_feed_forward_length: dense,
  expert_weights_scale: withoutScale("experts"),
  expert_weights_norm: dense,
  expert_gating_func: { isHarmless: isZeroOrOne, cure: "experts are chosen by a softmax (1)" },
  logit_scale: withoutScale("logits"),
  residual_scale: withoutScale("residuals"),
  embedding_scale: withoutScale("embeddings"),
  final_logit_softcapping: { isHarmless: isZero, cure: "this architecture does not cap its logits" },
  attn_logit_softcapping: { isHarmless: isZero, cure: "soft capping of attention scores is not computed" },
  "attention.value_length": headSized,
  "attention.key_length_swa": headSized,
  "attention.value_length_swa": headSized,
  "attention.layer_norm_epsilon": {
    isHarmless: (value, { normEpsilon }) => value === normEpsilon,
    cure: "norms are computed with attention.layer_norm_rms_epsilon",
  },
  "attention.causal": {
    isHarmless: (value) => value === true,
    cure: "only causal attention is computed; use a causal model",
  },
  "attention.scale": { isHarmless: isZero, cure: "this architecture has no separate attention scale" },
  "attention.temperature_scale": {
    isHarmless: isZero,
    cure: "this architecture has no attention scale by position",
  },
  "attention.clamp_kqv": { isHarmless: isZero, cure: "queries, keys and values are not clamped" },
  "attention.max_alibi_bias": { isHarmless: isZero, cure: "ALiBi is not computed" },
  "attention.shared_kv_layers": { isHarmless: isZero, cure: "every layer has its own keys and values" },
  "attention.sliding_window": {
    isHarmless: (value, { contextLength }) => value === 0 || Number(value) >= contextLength,
    cure: "this architecture has no sliding window",
  },
  "rope.dimension_count": wholeHeads,
  "rope.dimension_count_swa": wholeHeads,
  "rope.freq_base_swa": {
    isHarmless: (value, { rotaryBase }) => value === rotaryBase,
    cure: "this architecture has one rotary embedding for all layers",
  },
  "rope.scaling.alpha": { isHarmless: isZero, cure: "this scaling is not computed" },
  // Informational, except for Granite: there it switches the rotary embedding on and off.
  "rope.scaling.finetuned": { isHarmless: isAny, cure: "" },
};

/**
 * Refuses the first key of the architecture that Hone neither reads nor knows to be harmless.
 *
 * @param own the keys that this architecture reads in addition to those of all architectures
 * @throws ServiceError `unsupported` naming the key, its value and what is computed
 */
export function checkArchitectureKeys(
  metadata: GgufMetadata,
  architecture: string,
  { own, context }: { readonly own: readonly string[]; readonly context: KeyContext },
): void {
  const prefix = `${architecture}.`;
  for (const key of metadata.keysBelow(prefix)) {
    const name = key.slice(prefix.length);
    if (readKeys.has(name) || own.includes(name)) continue;
    const fault = faultOf(metadata, { key, name, context });
    if (fault !== null) throw fault;
  }
}

function faultOf(
  metadata: GgufMetadata,
  { key, name, context }: { readonly key: string; readonly name: string; readonly context: KeyContext },
): ServiceError | null {
  const known = Object.hasOwn(harmlessKeys, name) ? harmlessKeys[name] : undefined;
  if (known === undefined) return metadata.refused(key, "the key is unknown, and may change results");
  const value = metadata.value(key);
  return value === null || known.isHarmless(value, context) ? null : metadata.refused(key, known.cure);
}
