// Converts the rotary scaling of a GGUF file to config.json's form. Refuses combinations that llama.cpp and
// Transformers compute differently, because the file does not say for which of the two it was made.
import { readFloats, type StoredTensor } from "../stored-tensor.ts";
import type { GgufFile } from "./gguf-file.ts";
import type { GgufMetadata } from "./metadata.ts";
import { shortestDecimal } from "./shortest-decimal.ts";

export interface RopeScalingSource {
  readonly metadata: GgufMetadata;
  readonly tensors: GgufFile["tensors"];
  /** Architecture name in the file (`general.architecture`). */
  readonly architecture: string;
  readonly contextLength: number;
  /** True if the file may set YaRN's limits and magnitude; if false, they must have their default values. */
  readonly readsYarnSettings: boolean;
  readonly rotarySize: number;
}

/** Fields of config.json; empty if nothing is scaled. */
export type RopeScalingFields = Readonly<{ rope_scaling?: Readonly<Record<string, unknown>> }>;

/**
 * Returns the scaling fields.
 *
 * @throws ServiceError `unsupported` naming the key whose value is not supported
 */
export function ropeScaling(source: RopeScalingSource): RopeScalingFields {
  const settings = readSettings(source);
  const { tensors } = source;
  const [short, long] = [tensors.get("rope_factors_short.weight"), tensors.get("rope_factors_long.weight")];
  if (short !== undefined && long !== undefined) return listedTwice(source, settings, { short, long });
  const lone = short ?? long;
  if (lone !== undefined) {
    throw source.metadata.error(
      `it has only ${lone.name}; factors for short and for long texts must come together`,
    );
  }
  if (settings.type === "longrope") {
    throw source.metadata.refused(
      keyOf(source, "type"),
      "the file has no rope_factors_short.weight and rope_factors_long.weight",
    );
  }
  const listed = tensors.get("rope_freqs.weight");
  if (listed !== undefined) return listedOnce(source, settings, listed);
  if (settings.type === "yarn") return yarn(source, settings);
  if (settings.attentionFactor !== 1)
    return explicit(
      settings,
      Array.from({ length: source.rotarySize / 2 }, () => 1),
    );
  return settings.factor === 1 ? {} : { rope_scaling: { rope_type: "linear", factor: settings.factor } };
}

interface Settings {
  readonly type: "linear" | "yarn" | "longrope";
  /** Scaling factor of all pairs; 1 means no scaling. */
  readonly factor: number;
  /** Factor that multiplies cosines and sines. */
  readonly attentionFactor: number;
}

function keyOf({ architecture }: RopeScalingSource, name: string): string {
  return `${architecture}.rope.scaling.${name}`;
}

function numberOf(source: RopeScalingSource, name: string): number | null {
  return source.metadata.number(keyOf(source, name));
}

function readSettings(source: RopeScalingSource): Settings {
  const { metadata, architecture } = source;
  const attentionFactor = numberOf(source, "attn_factor") ?? 1;
  if (!(attentionFactor > 0))
    throw metadata.refused(keyOf(source, "attn_factor"), "a number above 0 is needed");
  // Older files use another key. In both keys, 0 means no scaling.
  const key =
    numberOf(source, "factor") === null ? `${architecture}.rope.scale_linear` : keyOf(source, "factor");
  const written = metadata.number(key) ?? 0;
  if (!(written >= 0)) throw metadata.refused(key, "a number above 0 is needed");
  const factor = written === 0 ? 1 : shortestDecimal(written);
  const type = metadata.text(keyOf(source, "type")) ?? "linear";
  switch (type) {
    case "none":
      return { type: "linear", factor: 1, attentionFactor };
    case "linear":
    case "longrope":
      return { type, factor, attentionFactor };
    case "yarn":
      return { type: factor === 1 ? "linear" : "yarn", factor, attentionFactor };
    default:
      throw metadata.refused(keyOf(source, "type"), "none, linear, yarn and longrope are computed");
  }
}

/** Returns scaling by an explicit factor for each pair, multiplied by the factor of all pairs. */
function explicit({ factor, attentionFactor }: Settings, factors: readonly number[]): RopeScalingFields {
  const all = factors.map((each) => each * factor);
  return {
    rope_scaling: {
      rope_type: "longrope",
      short_factor: all,
      long_factor: all,
      attention_factor: attentionFactor,
    },
  };
}

/**
 * Returns Llama 3.1's scaling. The GGUF file lists a factor for each pair, while config.json only names the method that
 * computes these factors.
 */
function listedOnce(source: RopeScalingSource, settings: Settings, tensor: StoredTensor): RopeScalingFields {
  if (settings.type === "yarn") {
    throw source.metadata.refused(
      keyOf(source, "type"),
      "YaRN together with the factors of rope_freqs.weight is not computed",
    );
  }
  return explicit(settings, factorsOf(source, tensor));
}

function listedTwice(
  source: RopeScalingSource,
  { type, factor, attentionFactor }: Settings,
  { short, long }: { readonly short: StoredTensor; readonly long: StoredTensor },
): RopeScalingFields {
  if (type === "yarn" || factor !== 1) {
    throw source.metadata.refused(
      keyOf(source, type === "yarn" ? "type" : "factor"),
      "it is not computed together with the factors of rope_factors_short.weight and rope_factors_long.weight",
    );
  }
  return {
    rope_scaling: {
      rope_type: "longrope",
      short_factor: factorsOf(source, short).map(shortestDecimal),
      long_factor: factorsOf(source, long).map(shortestDecimal),
      attention_factor: attentionFactor,
    },
  };
}

function factorsOf({ metadata, rotarySize }: RopeScalingSource, tensor: StoredTensor): readonly number[] {
  const factors = [...readFloats(tensor)];
  if (factors.length === rotarySize / 2 && factors.every((factor) => Number.isFinite(factor) && factor > 0))
    return factors;
  throw metadata.error(
    `its tensor ${tensor.name} has ${factors.length} factors; ${rotarySize / 2} numbers above 0 are needed, one for each pair of a head`,
  );
}

const usualYarn = { beta_fast: 32, beta_slow: 1 } as const;

/** Returns YaRN's scaling (arXiv:2309.00071) under Transformers' names. */
function yarn(source: RopeScalingSource, { factor, attentionFactor }: Settings): RopeScalingFields {
  const { metadata, readsYarnSettings, contextLength } = source;
  const usual = magnitude(factor, 1);
  const logMultiplier = numberOf(source, "yarn_log_multiplier") ?? 0;
  const isDivided = readsYarnSettings && logMultiplier !== 0;
  const base = isDivided ? usual / magnitude(factor, logMultiplier) : usual;
  if (!readsYarnSettings) {
    refuseUnless(source, "yarn_beta_fast", [usualYarn.beta_fast]);
    refuseUnless(source, "yarn_beta_slow", [usualYarn.beta_slow]);
    refuseUnless(source, "yarn_log_multiplier", [0]);
  }
  refuseUnless(source, "yarn_ext_factor", [1, -1]);
  refuseUnless(source, "yarn_attn_factor", [base]);
  const original = numberOf(source, "original_context_length") ?? contextLength;
  if (!(original > 0)) {
    throw metadata.refused(keyOf(source, "original_context_length"), "a number above 0 is needed");
  }
  return {
    rope_scaling: {
      rope_type: "yarn",
      factor,
      original_max_position_embeddings: original,
      beta_fast: shortestDecimal(numberOf(source, "yarn_beta_fast") ?? usualYarn.beta_fast),
      beta_slow: shortestDecimal(numberOf(source, "yarn_beta_slow") ?? usualYarn.beta_slow),
      attention_factor: base * attentionFactor,
    },
  };
}

/** Returns YaRN's factor for cosines and sines (`mscale`). */
function magnitude(factor: number, multiplier: number): number {
  return factor <= 1 ? 1 : 0.1 * multiplier * Math.log(factor) + 1;
}

function refuseUnless(source: RopeScalingSource, name: string, harmless: readonly number[]): void {
  const value = numberOf(source, name);
  if (value === null || harmless.some((each) => Math.abs(value - each) < 1e-4 * Math.abs(each))) return;
  if (harmless.includes(value)) return;
  throw source.metadata.refused(
    keyOf(source, name),
    `llama.cpp ignores it in files of this architecture and Transformers does not; ${harmless[0]} is computed`,
  );
}
