// Reads from an adapter's configuration which modules it adapts, and each module's rank and scale, by PEFT's rules for
// lists and patterns of names. Regular expressions are not evaluated; instead, the file's matrices show which modules
// an expression matched.
import type { ModelConfig } from "../config.ts";
import { lastNamesOf, loraNames } from "../parameters.ts";
import { storedProjections } from "../stored-projections.ts";
import { nameInTextModel } from "./text-part.ts";
import type { ConfigReader } from "./config-reader.ts";

/** Rank and scale of one adapted module. */
export interface AdaptedModule {
  readonly rank: number;
  /** Factor by which the product of the module's LoRA matrices A and B is multiplied. */
  readonly scale: number;
}

export interface AdaptedModules {
  /** Value of `lora_alpha`; applies to every module that has no entry in `alpha_pattern`. */
  readonly alpha: number;
  readonly isStabilised: boolean;
  /** Adapted modules by path, in the order of `storedProjections`. */
  readonly modules: ReadonlyMap<string, AdaptedModule>;
}

/** Description of the matrices in an adapter's file. */
export interface AdapterMatrices {
  /** Names of the matrices in the text model. */
  readonly names: ReadonlySet<string>;
  /**
   * True if the adapter belongs to a multimodal model. Its configuration may then name modules of other parts than the
   * text model.
   */
  readonly isTextPart: boolean;
}

/**
 * Returns the adapted modules by path. Adds a fault to the reader for every field that has an unsupported value.
 */
export function adaptedModules(
  reader: ConfigReader,
  config: ModelConfig,
  stored: AdapterMatrices,
): AdaptedModules {
  const rank = reader.count("r");
  const alpha = reader.number("lora_alpha", 8);
  const isStabilised = reader.flag("use_rslora", false);
  const ranks = patternOf(reader, "rank_pattern");
  const alphas = patternOf(reader, "alpha_pattern");
  const isAdapted = choiceOf(reader, config, stored);
  const modules = new Map<string, AdaptedModule>();
  for (const { path } of storedProjections(config)) {
    if (!isAdapted(path)) continue;
    const rankHere = ranks(path) ?? rank;
    modules.set(path, { rank: rankHere, scale: loraScale(alphas(path) ?? alpha, rankHere, isStabilised) });
  }
  return { alpha, isStabilised, modules };
}

/**
 * Returns the factor by which a module's LoRA product is multiplied: alpha / rank, or alpha / √rank with rank
 * stabilisation (arXiv:2312.03732).
 */
export function loraScale(alpha: number, rank: number, isStabilised: boolean): number {
  return alpha / (isStabilised ? Math.sqrt(rank) : rank);
}

/**
 * Returns a predicate that is true for a module if the configuration includes it and the file has its matrices. A
 * module that is included but has no matrices keeps the base model's weights, as in PEFT and vLLM.
 */
function choiceOf(
  reader: ConfigReader,
  config: ModelConfig,
  { names: stored, isTextPart }: AdapterMatrices,
): (path: string) => boolean {
  const layers = layersOf(reader);
  const modules = lastNamesOf(storedProjections(config).map(({ path }) => path));
  const included = namesOf(reader, "target_modules");
  // Each name in `target_modules` must equal the path of one of a layer's modules, or the end of such a path.
  if (!isTextPart && included?.every((name) => modules.some((module) => isNamed(name, module))) === false)
    reader.refuse("target_modules", `only ${modules.join(", ")} are adapted here`);
  const excluded = namesOf(reader, "exclude_modules");
  return (path) => {
    const { a, b } = loraNames(path);
    const isNamedHere = (names: readonly string[]): boolean => names.some((name) => isNamed(path, name));
    return (
      (stored.has(a) || stored.has(b)) &&
      (layers === null || layers.has(layerOf(path))) &&
      (included === null || isNamedHere(included)) &&
      (excluded === null || !isNamedHere(excluded))
    );
  };
}

/** Returns the names in a field; null if the field is absent or holds a regular expression. */
function namesOf(reader: ConfigReader, field: string): readonly string[] | null {
  const value = reader.get(field) ?? null;
  if (value === null || typeof value === "string") return null;
  if (Array.isArray(value) && value.every((name) => typeof name === "string"))
    return value.map(nameInTextModel);
  reader.refuse(field, "a list of names, or one pattern, is needed");
  return null;
}

/** Returns the indices of the adapted layers; null if all layers are adapted. */
function layersOf(reader: ConfigReader): ReadonlySet<number> | null {
  const pattern = [reader.get("layers_pattern") ?? []].flat();
  if (pattern.length > 0 && !pattern.includes("layers") && !pattern.includes(""))
    reader.refuse("layers_pattern", 'the layers of this model are called "layers"');
  const value = reader.get("layers_to_transform") ?? null;
  if (value === null) return null;
  const layers: readonly unknown[] = [value].flat();
  // An empty list means all layers, as in PEFT.
  if (layers.length === 0) return null;
  if (layers.every((layer) => Number.isSafeInteger(layer))) return new Set(layers as readonly number[]);
  reader.refuse("layers_to_transform", "numbers of layers are needed");
  return null;
}

/** Returns the layer index in a module path, such as 3 for `model.layers.3.mlp.up_proj`. */
function layerOf(path: string): number {
  return Number(path.split(".")[2]);
}

/** True if `name` equals the path or its last components. */
function isNamed(path: string, name: string): boolean {
  return path === name || path.endsWith(`.${name}`);
}

/**
 * Matches a pattern that is a plain name: letters, digits, `_` and dots, which may be escaped. With a leading `^`, the
 * name must be the whole path; without it, the end of a path.
 */
const plainName = /^\^?(?:[A-Za-z0-9_.]|\\\.)+$/;

/**
 * Returns a function that maps a module's path to a number: the value of the first pattern in the field that matches
 * the end of the path. The function returns null if no pattern matches.
 */
function patternOf(reader: ConfigReader, field: string): (path: string) => number | null {
  const fields = reader.object(field);
  if (fields === null) return () => null;
  const rules = fields.names.map((pattern) => {
    if (!plainName.test(pattern))
      fields.refuse(pattern, "only names of modules are read here, not regular expressions");
    const name = nameInTextModel(pattern.replace("^", "").replaceAll("\\.", "."));
    const value = field === "rank_pattern" ? fields.count(pattern) : fields.number(pattern);
    return { name, value, isWhole: pattern.startsWith("^") };
  });
  return (path) =>
    rules.find(({ name, isWhole }) => (isWhole ? path === name : isNamed(path, name)))?.value ?? null;
}
