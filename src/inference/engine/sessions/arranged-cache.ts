// Disk cache of arranged weights: weights in the layout that the runtime's kernels need. A model's sessions map these
// files into memory, and later starts reuse them; a file is written if none matches the weights, the kind of processor
// and the runtime. Only `onnx/` knows the layout.
import { mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Graph } from "../../../lib/graph/graph.ts";
import { byteLengthOf } from "../../../lib/graph/weight-source.ts";
import type { WeightSource } from "../../../lib/graph/weight-source.ts";
import { isRotaryTable } from "../../architectures/decoder.ts";
import { largeWeightBytes } from "../../architectures/large-weights.ts";
import { cacheKey } from "../../architectures/weights-cache.ts";
import {
  arrangedFormat,
  spareBytesFor,
  type ArrangeOptions,
  withArrangedWeights,
  writeArrangedWeights,
} from "../../onnx/arranged-weights.ts";
import { processorKind } from "../../onnx/processor-kind.ts";
import type { GraphsOfEveryRequest, SessionsOptions } from "./serving-sessions.ts";

type Weights = ReadonlyMap<string, WeightSource>;

/** Location of a model's arranged weights. */
export interface ArrangedCache {
  readonly folder: string;
  /** Name of the model in the cache. The model has one file for each set of names, types and shapes of weights. */
  readonly model: string;
  /** Hash of the weights' values. */
  readonly weightsHash: string;
  /** If true, throws instead of writing when weights are not cached. */
  readonly isReadOnly?: boolean;
  /**
   * If given, missing files may be written in idle time after the start, if results have the same bits. Until then,
   * sessions read the weights as stored; if bits differ, the session for single tokens has a private copy. Called if
   * writing fails.
   */
  readonly onLateFailure?: ((error: unknown) => void) | undefined;
}

/** Options for the weights of a model's serving graphs. */
export type CachedWeightsOptions = Pick<SessionsOptions, "weights"> & ArrangeOptions;

/**
 * Returns the weights of a model's serving graphs as {@link mappedWeights} does. If the graph for prompts uses other
 * forms of the weights than the graph for decoded tokens, its weights are in a separate file.
 *
 * @throws ServiceError as {@link mappedWeights}
 */
export async function arrangedForSessions(
  graphs: GraphsOfEveryRequest,
  cache: ArrangedCache,
  { weights, ...options }: CachedWeightsOptions,
): Promise<Weights> {
  let mapped = weights;
  for (const graph of graphsWithOwnFile(graphs))
    mapped = await mappedWeights(graph, cache, { weights: mapped, ...options });
  return mapped;
}

/**
 * Returns the weights with those arranged copies that the cache already has, and true if it has all of them. Otherwise,
 * {@link arrangedForSessions} may write the others after the start.
 *
 * @throws ServiceError `unavailable` if the disk has no room for the others
 */
export function cachedForSessions(
  graphs: GraphsOfEveryRequest,
  cache: ArrangedCache,
  { weights, threads }: Pick<CachedWeightsOptions, "weights" | "threads">,
): { readonly weights: Weights; readonly isComplete: boolean } {
  let cached = weights;
  const missing: CacheFile[] = [];
  for (const graph of graphsWithOwnFile(graphs)) {
    const file = fileFor(graph, cache, cached);
    const found = file && withArrangedWeights(file.path, cached);
    if (found !== null) cached = found;
    else if (file !== null) missing.push(file);
  }
  if (missing.length > 0) requireRoom(cache.folder, missing, threads);
  return { weights: cached, isComplete: missing.length === 0 };
}

function graphsWithOwnFile({ token, first }: GraphsOfEveryRequest): readonly Graph[] {
  const namesOf = (graph: Graph): string => graph.parameters.map(({ name }) => name).join();
  return namesOf(token) === namesOf(first) ? [token] : [token, first];
}

/**
 * Returns the weights together with their arranged copies, mapped from a file. Returns the weights unchanged if they
 * are in memory or small.
 *
 * @param graph any graph that applies these weights as the model's sessions do
 * @param options.weights weights, some of which may already have arranged copies for another graph of the model
 * @throws ServiceError `unavailable` if the disk has no room for the copies
 */
export async function mappedWeights(
  graph: Graph,
  cache: ArrangedCache,
  options: CachedWeightsOptions,
): Promise<Weights> {
  const { weights, threads } = options;
  const file = fileFor(graph, cache, weights);
  if (file === null) return weights;
  const kept = withArrangedWeights(file.path, weights);
  if (kept !== null) return kept;
  if (cache.isReadOnly === true) throw new Error(`${file.path} is missing`);
  requireRoom(cache.folder, [file], threads);
  try {
    await writeArrangedWeights(file.path, graph, options);
  } catch (error) {
    // Another server with this cache may have written the same file meanwhile, and removed this one's partial file.
    const other = withArrangedWeights(file.path, weights);
    if (other === null) throw error;
    return other;
  }
  // Removes the files of earlier weights of this model, and files that a crashed process left behind.
  for (const name of readdirSync(cache.folder)) {
    if (name.startsWith(file.modelPrefix) && name !== file.name)
      rmSync(join(cache.folder, name), { recursive: true, force: true, maxRetries: 3 });
  }
  return withArrangedWeights(file.path, weights) ?? weights;
}

/** A file with arranged weights, which may be missing. */
interface CacheFile {
  readonly path: string;
  readonly name: string;
  /** Beginning of the names of all files for the same model, and for weights of the same names, types and shapes. */
  readonly modelPrefix: string;
  /** Sizes of the weights in bytes. */
  readonly sizes: readonly number[];
}

/** Returns the file for a graph's weights; null if they are in memory or small. */
function fileFor(
  graph: Graph,
  { folder, model, weightsHash }: ArrangedCache,
  weights: Weights,
): CacheFile | null {
  // Rotary tables are not arranged. They depend on the context length, which must not change the file's name.
  const inFiles = graph.parameters.filter(
    ({ name }) => "file" in (weights.get(name) ?? {}) && !isRotaryTable(name),
  );
  const sizes = inFiles.map(({ value }) => byteLengthOf(value));
  if (sum(sizes) < largeWeightBytes) return null;
  const shapes = inFiles.map(({ name, value: { dtype, shape } }) => [name, dtype, shape]);
  const modelPrefix = `${cacheKey([model, shapes])}-`;
  // The values of converted weights depend on the conversion, so the cache file's name depends on the files with the
  // converted weights.
  const files = inFiles.map(({ name }) => weights.get(name));
  const name = `${modelPrefix}${cacheKey([arrangedFormat, processorKind(), weightsHash, files])}.arranged`;
  return { path: join(folder, name), name, modelPrefix, sizes };
}

/**
 * Creates the folder if it does not exist, and requires that the disk has room for missing files and for the data that
 * exists only while they are written.
 *
 * @throws ServiceError `unavailable`
 */
function requireRoom(folder: string, missing: readonly CacheFile[], threads: number): void {
  const sizes = missing.flatMap((file) => file.sizes);
  const keptBytes = sum(sizes);
  const neededBytes = keptBytes + spareBytesFor(sizes, threads);
  mkdirSync(folder, { recursive: true });
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= neededBytes) return;
  const [needed, kept, free] = [neededBytes, keptBytes, bavail * bsize].map(
    (count) => `${Math.ceil(count / 2 ** 20)} MiB`,
  );
  throw new ServiceError({
    code: "unavailable",
    message:
      `The first start with a model arranges its weights in ${folder}, which takes ${needed} of disk space at first and ${kept} ` +
      `afterwards; the disk has ${free} free. Free disk space, or move the data folder to another disk.`,
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
