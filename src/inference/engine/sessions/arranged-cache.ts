// Which arranged weights a model's sessions map, and where they are kept from one start to the next. Made when they are missing:
// for other weights, another kind of processor or another runtime. What they are is known in runtime/.
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

/** As many as their bytes are on the disk while they are written: the runtime's own file with both kinds, and ours. */
const writtenCopies = 3;

/** Where a model's arranged weights are kept. */
export interface ArrangedCache {
  readonly folder: string;
  /** What the model is called there: one keeps one file for weights of the same names, types and shapes. */
  readonly model: string;
  /** Of the weights' values. */
  readonly weightsHash: string;
  /** Refuses where they are not kept yet. */
  readonly isReadOnly?: boolean;
}

/**
 * The weights of a model's serving graphs as {@link mappedWeights} gives them. Prompts have a file of their own where they are
 * computed with other forms of the weights than decoded tokens.
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
 * The weights with their arranged copies beside them, mapped from a file. As they are where they lie in memory or are few.
 *
 * @param graph any that applies these weights as the model's sessions do
 * @param options.weights those of another graph of the model may have theirs already
 * @throws ServiceError `unavailable` where the disk has no room for them
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
  // Converted weights of one model differ by how they were made, and lie in other files then.
  const files = inFiles.map(({ name }) => weights.get(name));
  const name = `${modelKey}-${hashOf([arrangedFormat, processorKind(), weightsHash, files])}.arranged`;
  const file = join(folder, name);
  const kept = withArrangedWeights(file, weights);
  if (kept !== null) return kept;
  if (isReadOnly) throw new Error(`${file} is missing`);
  mkdirSync(folder, { recursive: true });
  requireRoom(folder, writtenCopies * weightBytes);
  await writeArrangedWeights(file, graph, { weights, threads });
  // Of earlier weights, and what a process left that died while it wrote.
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
      `The first start with a model arranges its weights in ${folder}, which takes ${needed} until it is done, a third of ` +
      `that afterwards; the disk has room for ${free}. Make room on it, or have the data folder on another disk.`,
  });
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}
