// Reads the parts of config.json that may differ between layers (kinds, sliding windows and rotary embeddings), in
// their older and newer spellings.
import type { LayerConfig, ModelConfig } from "../config.ts";
import type { LayerDetails } from "./gemma4-layers.ts";
import type { ConfigReader } from "./config-reader.ts";
import type { FamilyRule, LayerKind } from "./families.ts";
import type { QueryGrowth, RotaryConfig, RotaryScaling } from "../rotary.ts";

type AttentionKind = Extract<LayerKind, `${string}_attention`>;

const layerCountMax = 10_000;

/** Reads the kind, window and rotary embedding of every layer. Adds a fault to `reader` for each unsupported value. */
export function readLayers(
  reader: ConfigReader,
  family: FamilyRule,
  { rotarySize, experts }: Pick<ModelConfig, "rotarySize" | "experts">,
): Pick<ModelConfig, "layers" | "rotaries"> {
  const kinds = readKinds(reader, family);
  const window = kinds.includes("sliding_attention") ? readWindow(reader, family) : null;
  const details = family.layerDetails?.(reader, kinds) ?? null;
  const rotaryOf = readRotaries(reader, family, rotarySizes(kinds, details, rotarySize));
  const rotaries: RotaryConfig[] = [];
  const indexOf = (rotary: RotaryConfig): number => {
    if (!rotaries.includes(rotary)) rotaries.push(rotary);
    return rotaries.indexOf(rotary);
  };
  const growth = readGrowth(reader, family);
  const withGrowth = (rotary: RotaryConfig): RotaryConfig =>
    growth === null ? rotary : { ...rotary, growth };
  const grown = {
    full_attention: withGrowth(rotaryOf.full_attention),
    sliding_attention: withGrowth(rotaryOf.sliding_attention),
  };
  const rotates = family.rotaryRule(reader);
  const expertsOf = experts === null ? () => undefined : family.expertRule(reader);
  const layers = kinds.map((kind, layer): LayerConfig => {
    const own = expertsOf(layer);
    const options = {
      ...(own !== undefined && { experts: own }),
      ...(family.hasSingleParts && { isAlone: true }),
    };
    if (kind !== "full_attention" && kind !== "sliding_attention") return { kind, ...options };
    const slidingWindow = kind === "sliding_attention" ? window : null;
    const shared = { kind: "attention", slidingWindow, ...options, ...details?.[layer] } as const;
    if (!rotates(layer)) return { ...shared, rotary: null };
    const rotary = indexOf(rotaryOf[kind]);
    if (growth === null) return { ...shared, rotary };
    return { ...shared, rotary, queryRotary: indexOf(grown[kind]) };
  });
  if (kinds.length > 0 && !kinds.some((kind) => kind.endsWith("_attention")))
    reader.refuse("layer_types", "at least one layer of attention is needed; use a model with one");
  return { layers, rotaries };
}

/**
 * Returns the parameters of the factor by which queries grow with their position, as in Ministral 3; null if the model
 * has no such factor.
 */
function readGrowth(reader: ConfigReader, { readsQueryGrowth }: FamilyRule): QueryGrowth | null {
  if (!readsQueryGrowth) return null;
  const settings = reader.object("rope_parameters") ?? reader.object("rope_scaling");
  if (settings === null || (settings.get("llama_4_scaling_beta") ?? null) === null) return null;
  return {
    beta: settings.number("llama_4_scaling_beta"),
    period: settings.count("original_max_position_embeddings"),
  };
}

function readKinds(
  reader: ConfigReader,
  { layerTypes, kindRule, readKinds: readOwn }: FamilyRule,
): readonly LayerKind[] {
  if (readOwn !== null) return readOwn(reader);
  const count = reader.count("num_hidden_layers", undefined, layerCountMax);
  const explicit = layerTypes === null ? null : (reader.get("layer_types") ?? null);
  if (explicit !== null && layerTypes !== null) return explicitKinds(reader, explicit, { count, layerTypes });
  const kindOf = kindRule(reader);
  return Array.from({ length: count }, (_, layer) => kindOf(layer));
}

function explicitKinds(
  reader: ConfigReader,
  names: unknown,
  { count, layerTypes }: { readonly count: number; readonly layerTypes: Readonly<Record<string, LayerKind>> },
): readonly LayerKind[] {
  const kinds = Array.isArray(names)
    ? names.flatMap((name) =>
        typeof name === "string" && Object.hasOwn(layerTypes, name) ? [layerTypes[name]] : [],
      )
    : [];
  if (Array.isArray(names) && names.length === count && kinds.length === count) return kinds;
  reader.refuse(
    "layer_types",
    `${count} entries, each ${Object.keys(layerTypes).join(" or ")}, are needed; use a model with these`,
  );
  return [];
}

function readWindow(reader: ConfigReader, { hasSlidingSwitch, usualWindow }: FamilyRule): number {
  if (hasSlidingSwitch && !reader.flag("use_sliding_window", false)) {
    reader.refuse("use_sliding_window", "layer_types names sliding layers, so it has to be true");
  }
  return reader.count("sliding_window", reader.get("sliding_window") === null ? undefined : usualWindow);
}

/**
 * Returns the number of dimensions of each head that are rotated. In families without partial rotation, this is the
 * whole head, and {@link refusePartialRotary} refuses other values.
 */
export function readRotarySize(
  reader: ConfigReader,
  { partialRotary }: FamilyRule,
  headSize: number,
): number {
  if (partialRotary === null) return headSize;
  const newer = reader.object("rope_parameters");
  const place = (newer?.get("partial_rotary_factor") ?? null) === null ? reader : (newer ?? reader);
  const size = Math.floor(headSize * place.number("partial_rotary_factor", partialRotary));
  if (size % 2 === 0 && size > 0 && size <= headSize) return size;
  place.refuse(
    "partial_rotary_factor",
    `it makes ${size} of ${headSize}; an even part of a head must be rotated`,
  );
  return headSize;
}

/** Adds a fault if a configuration asks for rotation of only a part of each head. */
export function refusePartialRotary(settings: ConfigReader): void {
  const factor = settings.get("partial_rotary_factor");
  if (factor === undefined || factor === null || factor === 1) return;
  settings.refuse("partial_rotary_factor", "only rotation of whole heads is computed; use a model with that");
}

/** Values that the readers of rotary scaling need besides the scaling settings themselves. */
interface ScalingContext {
  readonly reader: ConfigReader;
  readonly family: FamilyRule;
  readonly rotarySize: number;
}

/** Returns the number of rotated dimensions of each head, by the kind of layer. */
function rotarySizes(
  kinds: readonly LayerKind[],
  details: readonly LayerDetails[] | null,
  usual: number,
): Readonly<Record<AttentionKind, number>> {
  const sizeOf = (kind: AttentionKind): number => details?.at(kinds.indexOf(kind))?.heads?.headSize ?? usual;
  return { full_attention: sizeOf("full_attention"), sliding_attention: sizeOf("sliding_attention") };
}

function readRotaries(
  reader: ConfigReader,
  family: FamilyRule,
  sizes: Readonly<Record<AttentionKind, number>>,
): Readonly<Record<AttentionKind, RotaryConfig>> {
  const { rotaryTheta, slidingRotary } = family;
  const context = { reader, family, rotarySize: sizes.full_attention };
  const forBothKinds = (full: RotaryConfig): Readonly<Record<AttentionKind, RotaryConfig>> => {
    if (slidingRotary === null) return { full_attention: full, sliding_attention: full };
    const theta =
      slidingRotary === "unscaled" ? full.theta : reader.number(slidingRotary.field, slidingRotary.theta);
    return { full_attention: full, sliding_attention: { theta, scaling: { kind: "none" } } };
  };
  // The default of `rope_parameters` applies only if the file does not use the older field `rope_scaling`.
  const isOlder = (reader.get("rope_scaling") ?? null) !== null;
  const newer = reader.object("rope_parameters", isOlder ? null : family.usualRotary);
  if (newer === null) {
    const theta = reader.number("rope_theta", rotaryTheta);
    return forBothKinds({ theta, scaling: readScaling(reader.object("rope_scaling"), context) });
  }
  const one = (settings: ConfigReader, usual: number, rotarySize = sizes.full_attention): RotaryConfig => {
    const theta = settings.number("rope_theta", usual);
    const scaling = readScaling(settings, { ...context, rotarySize });
    if (family.layerDetails === null) return { theta, scaling };
    return { theta, scaling, size: rotatedSize(settings, scaling, rotarySize) };
  };
  const full = newer.object("full_attention");
  const sliding = newer.object("sliding_attention");
  if (full === null && sliding === null) {
    return forBothKinds(one(newer, reader.number("rope_theta", rotaryTheta)));
  }
  return {
    full_attention: one(full ?? newer, rotaryTheta),
    sliding_attention: one(sliding ?? newer, usualSlidingTheta(family), sizes.sliding_attention),
  };
}

function usualSlidingTheta({ slidingRotary, rotaryTheta }: FamilyRule): number {
  return slidingRotary === null || slidingRotary === "unscaled" ? rotaryTheta : slidingRotary.theta;
}

function readScaling(settings: ConfigReader | null, context: ScalingContext): RotaryScaling {
  if (settings === null) return { kind: "none" };
  const field = settings.get("rope_type") === undefined ? "type" : "rope_type";
  if (settings.get(field) === "proportional" && context.family.usualRotary !== null)
    return readProportional(settings, context);
  if (context.family.partialRotary === null) refusePartialRotary(settings);
  switch (settings.get(field) ?? "default") {
    case "default":
      return { kind: "none" };
    case "linear":
      return { kind: "linear", factor: settings.number("factor") };
    case "llama3":
      return {
        kind: "llama3",
        factor: settings.number("factor"),
        lowFrequencyFactor: settings.number("low_freq_factor"),
        highFrequencyFactor: settings.number("high_freq_factor"),
        originalContextLength: settings.number(
          "original_max_position_embeddings",
          context.reader.number("max_position_embeddings"),
        ),
      };
    case "yarn":
      return readYarn(settings, context);
    // "su" is the name of LongRoPE in the first published files.
    case "su":
    case "longrope":
      return readLongRope(settings, context);
    default:
      settings.refuse(
        field,
        "default, linear, llama3, yarn and longrope are computed; remove the scaling to serve the original context length",
      );
      return { kind: "none" };
  }
}

/**
 * Reads a rotary embedding that rotates only some pairs of a head's dimensions. Their frequencies depend on the size of
 * the whole head.
 */
function readProportional(settings: ConfigReader, { rotarySize: headSize }: ScalingContext): RotaryScaling {
  return { kind: "proportional", factor: settings.number("factor", 1), headSize };
}

/** Returns the number of dimensions of each head that a rotary embedding rotates. */
function rotatedSize(settings: ConfigReader, { kind }: RotaryScaling, headSize: number): number {
  if (kind !== "proportional") return headSize;
  const size = 2 * Math.floor((settings.number("partial_rotary_factor", 1) * headSize) / 2);
  if (size === 0 || size > headSize)
    settings.refuse("partial_rotary_factor", "a part of a head must be rotated, or all of it");
  return size;
}

/** Reads YaRN scaling as Transformers does, including DeepSeek's factors (`mscale`). */
function readYarn(settings: ConfigReader, { reader, family }: ScalingContext): RotaryScaling {
  const isSet = (field: string): boolean => (settings.get(field) ?? null) !== null;
  const contextLength = reader.count("max_position_embeddings", family.usualSizes?.contextLength);
  const originalContextLength = settings.count("original_max_position_embeddings", contextLength);
  const factor = settings.number("factor", contextLength / originalContextLength);
  const magnitude = (multiplier: number): number =>
    factor <= 1 ? 1 : 0.1 * multiplier * Math.log(factor) + 1;
  // A factor of 0 has the same meaning as an absent factor.
  const [one, all] = ["mscale", "mscale_all_dim"].map((field) =>
    isSet(field) && settings.get(field) !== 0 ? settings.number(field) : null,
  );
  const usual = one !== null && all !== null ? magnitude(one) / magnitude(all) : magnitude(1);
  return {
    kind: "yarn",
    factor,
    originalContextLength,
    turnsMin: settings.number("beta_fast", 32),
    turnsMax: settings.number("beta_slow", 1),
    isTruncated: settings.flag("truncate", true),
    attentionFactor: settings.number("attention_factor", usual),
  };
}

/**
 * Reads LongRoPE scaling. If the model's context is longer than the original context, the factors for long texts apply
 * at every position, as in vLLM. Transformers switches to these factors only once a text is longer than the original
 * context, which makes results before the switch inconsistent with those after it.
 */
function readLongRope(settings: ConfigReader, { reader, family, rotarySize }: ScalingContext): RotaryScaling {
  const contextLength = reader.count("max_position_embeddings");
  // Phi-3 stores the original length next to the scaling settings instead of in them.
  const original = settings.count(
    "original_max_position_embeddings",
    reader.count("original_max_position_embeddings", family.originalContextLength ?? contextLength),
  );
  const growth = contextLength / original;
  const field = growth > 1 ? "long_factor" : "short_factor";
  const factors = settings.numbers(field);
  if (factors.length !== rotarySize / 2)
    settings.refuse(field, `a factor for each of the ${rotarySize / 2} pairs of a head is needed`);
  const factor = settings.number("factor", growth);
  const usual = factor > 1 ? Math.sqrt(1 + Math.log(factor) / Math.log(original)) : 1;
  return { kind: "longrope", factors, attentionFactor: settings.number("attention_factor", usual) };
}
