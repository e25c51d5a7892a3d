// Disk cache of arranged weights, which a model's sessions map into memory; files are reused by later starts. A file
// is created if none matches the weights, the kind of processor and the runtime. Only `onnx/` knows the form of
// arranged weights.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Graph } from "../../../lib/graph/graph.ts";
import { byteLengthOf } from "../../../lib/graph/weight-source.ts";
import type { WeightSource } from "../../../lib/graph/weight-source.ts";
import { largeWeightBytes } from "../../architectures/large-weights.ts";
import { arrangedFormat, withArrangedWeights, writeArrangedWeights } from "../../onnx/arranged-weights.ts";
import { processorKind } from "../../onnx/processor-kind.ts";
import type { GraphsOfEveryRequest, SessionsOptions } from "./serving-sessions.ts";

type Weights = ReadonlyMap<string, WeightSource>;

/**
 * Disk space needed while writing, as a multiple of the weights' size: the runtime's file holds the weights in both
 * forms, and Hone's file holds one form.
 */
const writtenCopies = 3;

/** Location of a model's arranged weights. */
export interface ArrangedCache {
  readonly folder: string;
  /**
   * Name of the model in the cache. For each set of weights with the same names, types and shapes, the model has one
   * file.
   */
  readonly model: string;
  /** Hash of the weights' values. */
  readonly weightsHash: string;
  /** If true, throws instead of writing when weights are not cached. */
  readonly isReadOnly?: boolean;
}

/**
 * Returns the weights of a model's serving graphs as {@link mappedWeights} does. Prompts have a separate file if they
 * use other forms of the weights than decoded tokens.
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
 * Returns the weights with their arranged copies, mapped from a file; returns them unchanged if they are in memory or
 * small.
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
  const inFiles = graph.parameters.filter(({ name }) => "file" in (weights.get(name) ?? {}));
  const weightBytes = inFiles.reduce((sum, { value }) => sum + byteLengthOf(value), 0);
  if (weightBytes < largeWeightBytes) return weights;
  const shapes = inFiles.map(({ name, value: { dtype, shape } }) => [name, dtype, shape]);
  const modelKey = hashOf([model, shapes]);
  // If weights were converted, their files are part of the name, because they depend on the conversion.
  const files = inFiles.map(({ name }) => weights.get(name));
  const name = `${modelKey}-${hashOf([arrangedFormat, processorKind(), weightsHash, files])}.arranged`;
  const file = join(folder, name);
  const kept = withArrangedWeights(file, weights);
  if (kept !== null) return kept;
  if (isReadOnly) throw new Error(`${file} is missing`);
  mkdirSync(folder, { recursive: true });
  requireRoom(folder, writtenCopies * weightBytes);
  await writeArrangedWeights(file, graph, { weights, threads });
  // Removes files of this model's earlier weights, and leftovers of a process that crashed while writing.
  for (const other of readdirSync(folder)) {
    if (other.startsWith(`${modelKey}-`) && other !== name) rmSync(join(folder, other), { recursive: true });
  }
  return withArrangedWeights(file, weights) ?? weights;
}

/** @throws ServiceError `unavailable` */
function requireRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= bytes) return;
  const [needed, free] = [bytes, bavail * bsize].map((count) => `${Math.ceil(count / 2 ** 20)} MiB`);
  throw new ServiceError({
    code: "unavailable",
    message:
      `The first start with a model arranges its weights in ${folder}, which takes ${needed} of disk space at first and a third of ` +
      `that afterwards; the disk has ${free} free. Free disk space, or move the data folder to another disk.`,
  });
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}
