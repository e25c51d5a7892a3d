// Which modules an adapter's configuration adapts, at which rank and scale: PEFT's rules for lists and patterns of names.
// Patterns that are regular expressions are no names, and are not evaluated: what they choose is seen by the file's matrices.
import type { ModelConfig } from "../config.ts";
import { loraNames } from "../parameters.ts";
import { storedParts, storedProjections } from "../stored-projections.ts";
import type { ConfigReader } from "./config-reader.ts";

/** How one module is adapted. */
export interface AdaptedModule {
  readonly rank: number;
  /** What multiplies the product of its matrices. */
  readonly scale: number;
}

export interface AdaptedModules {
  /** Of modules without one of their own. */
  readonly alpha: number;
  readonly isStabilised: boolean;
  /** By their paths, in the order of `storedProjections`. */
  readonly modules: ReadonlyMap<string, AdaptedModule>;
}

/**
 * The modules that are adapted, by their paths; adds a fault to the reader for every field that is not understood.
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

/** What multiplies the product of a module's matrices; with rank stabilisation (arXiv:2312.03732) by the root of the rank. */
export function loraScale(alpha: number, rank: number, isStabilised: boolean): number {
  return alpha / (isStabilised ? Math.sqrt(rank) : rank);
}

/**
 * Whether a module is adapted: it has matrices, and the configuration does not leave it out. One that is named and has no
 * matrices stays as the base has it, as with PEFT and vLLM.
 */
function choiceOf(
  reader: ConfigReader,
  config: ModelConfig,
  stored: ReadonlySet<string>,
): (path: string) => boolean {
  const layers = layersOf(reader);
  const modules = Object.keys(storedParts(config));
  const included = namesOf(reader, "target_modules");
  // A name is one of a layer's modules, or ends with it.
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

/** A list of names; null where there is none, or a regular expression. */
function namesOf(reader: ConfigReader, field: string): readonly string[] | null {
  const value = reader.get(field) ?? null;
  if (value === null || typeof value === "string") return null;
  if (Array.isArray(value) && value.every((name) => typeof name === "string")) return value;
  reader.refuse(field, "a list of names, or one pattern, is needed");
  return null;
}

/** The numbers of the layers that are adapted; null for all. */
function layersOf(reader: ConfigReader): ReadonlySet<number> | null {
  const pattern = [reader.get("layers_pattern") ?? []].flat();
  if (pattern.length > 0 && !pattern.includes("layers") && !pattern.includes(""))
    reader.refuse("layers_pattern", 'the layers of this model are called "layers"');
  const value = reader.get("layers_to_transform") ?? null;
  if (value === null) return null;
  const layers: readonly unknown[] = [value].flat();
  // PEFT takes an empty list for all.
  if (layers.length === 0) return null;
  if (layers.every((layer) => Number.isSafeInteger(layer))) return new Set(layers as readonly number[]);
  reader.refuse("layers_to_transform", "numbers of layers are needed");
  return null;
}

/** Of `model.layers.3.mlp.up_proj`, 3. */
function layerOf(path: string): number {
  return Number(path.split(".")[2]);
}

/** A whole path, or the end of one. */
function isNamed(path: string, name: string): boolean {
  return path === name || path.endsWith(`.${name}`);
}

/** A name in a pattern: letters, digits, `_` and dots, which may be escaped; `^` says that it is a whole path. */
const plainName = /^\^?(?:[A-Za-z0-9_.]|\\\.)+$/;

/** A number for some modules, by the first pattern that fits the end of their paths; null where none does. */
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
