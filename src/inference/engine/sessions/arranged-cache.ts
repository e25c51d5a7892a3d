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
}

/**
 * Returns the weights of a model's serving graphs as {@link mappedWeights} does. If the graph for prompts uses other
 * forms of the weights than the graph for decoded tokens, its weights are in a separate file.
 *
 * @throws ServiceError as {@link mappedWeights}
 */
export async function arrangedForSessions(
  { token, first }: GraphsOfEveryRequest,
  cache: ArrangedCache,
  { weights, threads }: Pick<SessionsOptions, "weights" | "threads">,
): Promise<Weights> {
  const namesOf = (graph: Graph): string => graph.parameters.map(({ name }) => name).join();
  const mapped = await mappedWeights(token, cache, { weights, threads });
  return namesOf(token) === namesOf(first)
    ? mapped
    : mappedWeights(first, cache, { weights: mapped, threads });
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
  { folder, model, weightsHash, isReadOnly = false }: ArrangedCache,
  { weights, threads }: { readonly weights: Weights; readonly threads: number },
): Promise<Weights> {
  // Rotary tables are not arranged. They depend on the context length, which must not change the file's name.
  const inFiles = graph.parameters.filter(
    ({ name }) => "file" in (weights.get(name) ?? {}) && !isRotaryTable(name),
  );
  const sizes = inFiles.map(({ value }) => byteLengthOf(value));
  const weightBytes = sizes.reduce((sum, size) => sum + size, 0);
  if (weightBytes < largeWeightBytes) return weights;
  const shapes = inFiles.map(({ name, value: { dtype, shape } }) => [name, dtype, shape]);
  const modelKey = cacheKey([model, shapes]);
  // The values of converted weights depend on the conversion, so the cache file's name depends on the files with the
  // converted weights.
  const files = inFiles.map(({ name }) => weights.get(name));
  const name = `${modelKey}-${cacheKey([arrangedFormat, processorKind(), weightsHash, files])}.arranged`;
  const file = join(folder, name);
  const kept = withArrangedWeights(file, weights);
  if (kept !== null) return kept;
  if (isReadOnly) throw new Error(`${file} is missing`);
  mkdirSync(folder, { recursive: true });
  const neededBytes = weightBytes + spareBytesFor(sizes, threads);
  requireRoom(folder, { keptBytes: weightBytes, neededBytes });
  await writeArrangedWeights(file, graph, { weights, threads });
  // Removes the files of earlier weights of this model, and files that a crashed process left behind.
  for (const other of readdirSync(folder)) {
    if (other.startsWith(`${modelKey}-`) && other !== name) rmSync(join(folder, other), { recursive: true });
  }
  return withArrangedWeights(file, weights) ?? weights;
}

/**
 * Requires that the disk has room for the bytes needed while writing, of which some are kept.
 *
 * @throws ServiceError `unavailable`
 */
function requireRoom(
  folder: string,
  { keptBytes, neededBytes }: { readonly keptBytes: number; readonly neededBytes: number },
): void {
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
