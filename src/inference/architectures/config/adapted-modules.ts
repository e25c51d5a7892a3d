// Reads which modules an adapter's configuration adapts, with rank and scale, by PEFT's rules for lists and patterns
// of names. Regular expressions are not evaluated; the matrices in the file show which modules they match.
import type { ModelConfig } from "../config.ts";
import { lastNamesOf, loraNames } from "../parameters.ts";
import { storedProjections } from "../stored-projections.ts";
import type { ConfigReader } from "./config-reader.ts";

/** Rank and scale of one adapted module. */
export interface AdaptedModule {
  readonly rank: number;
  /** Factor of the product of the module's matrices. */
  readonly scale: number;
}

export interface AdaptedModules {
  /** Alpha of modules without a separate alpha. */
  readonly alpha: number;
  readonly isStabilised: boolean;
  /** Adapted modules by path, in the order of `storedProjections`. */
  readonly modules: ReadonlyMap<string, AdaptedModule>;
}

/**
 * Returns the adapted modules by path; adds a fault to the reader for every field that is not understood.
 *
 * @param stored the names of the file's matrices
 */
export function adaptedModules(
  reader: ConfigReader,
  config: ModelConfig,
  stored: ReadonlySet<string>,
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
 * Returns the factor of the product of a module's matrices: alpha / rank, or alpha / √rank with rank stabilisation
 * (arXiv:2312.03732).
 */
export function loraScale(alpha: number, rank: number, isStabilised: boolean): number {
  return alpha / (isStabilised ? Math.sqrt(rank) : rank);
}

/**
 * Returns a predicate that is true for adapted modules: the configuration includes them, and the file has their
 * matrices. An included module without matrices keeps the base's weights, as in PEFT and vLLM.
 */
function choiceOf(
  reader: ConfigReader,
  config: ModelConfig,
  stored: ReadonlySet<string>,
): (path: string) => boolean {
  const layers = layersOf(reader);
  const modules = lastNamesOf(storedProjections(config).map(({ path }) => path));
  const included = namesOf(reader, "target_modules");
  // A name must be, or end with, one of a layer's modules.
  if (included?.every((name) => modules.some((module) => isNamed(name, module))) === false)
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

/** Returns a list of names; null if it is absent or a regular expression. */
function namesOf(reader: ConfigReader, field: string): readonly string[] | null {
  const value = reader.get(field) ?? null;
  if (value === null || typeof value === "string") return null;
  if (Array.isArray(value) && value.every((name) => typeof name === "string")) return value;
  reader.refuse(field, "a list of names, or one pattern, is needed");
  return null;
}

/** Returns the numbers of the adapted layers; null for all. */
function layersOf(reader: ConfigReader): ReadonlySet<number> | null {
  const pattern = [reader.get("layers_pattern") ?? []].flat();
  if (pattern.length > 0 && !pattern.includes("layers") && !pattern.includes(""))
    reader.refuse("layers_pattern", 'the layers of this model are called "layers"');
  const value = reader.get("layers_to_transform") ?? null;
  if (value === null) return null;
  const layers: readonly unknown[] = [value].flat();
  // PEFT treats an empty list as all layers.
  if (layers.length === 0) return null;
  if (layers.every((layer) => Number.isSafeInteger(layer))) return new Set(layers as readonly number[]);
  reader.refuse("layers_to_transform", "numbers of layers are needed");
  return null;
}

/** Returns 3 for `model.layers.3.mlp.up_proj`. */
function layerOf(path: string): number {
  return Number(path.split(".")[2]);
}

/** True if a name equals a path or the end of one. */
function isNamed(path: string, name: string): boolean {
  return path === name || path.endsWith(`.${name}`);
}

/** A plain name in a pattern: letters, digits, `_` and dots, which may be escaped; `^` marks a whole path. */
const plainName = /^\^?(?:[A-Za-z0-9_.]|\\\.)+$/;

/**
 * Returns a function that maps a module's path to the number of the first pattern that matches the path's end; null if
 * none matches.
 */
function patternOf(reader: ConfigReader, field: string): (path: string) => number | null {
  const fields = reader.object(field);
  if (fields === null) return () => null;
  const rules = fields.names.map((pattern) => {
    if (!plainName.test(pattern))
      fields.refuse(pattern, "only names of modules are read here, not regular expressions");
    const name = pattern.replace("^", "").replaceAll("\\.", ".");
    const value = field === "rank_pattern" ? fields.count(pattern) : fields.number(pattern);
    return { name, value, isWhole: pattern.startsWith("^") };
  });
  return (path) =>
    rules.find(({ name, isWhole }) => (isWhole ? path === name : isNamed(path, name)))?.value ?? null;
}
