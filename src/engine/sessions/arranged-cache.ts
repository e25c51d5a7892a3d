// Which arranged weights a model's sessions map, and where they are kept from one start to the next. Made when they are missing:
// for other weights, another kind of processor or another runtime. What they are is known in runtime/.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Graph } from "../../graph/graph.ts";
import { byteLengthOf } from "../../graph/weight-source.ts";
import type { WeightSource } from "../../graph/weight-source.ts";
import { arrangedFormat, withArrangedWeights, writeArrangedWeights } from "../../runtime/arranged-weights.ts";

type Weights = ReadonlyMap<string, WeightSource>;

/** Where a model's arranged weights are kept. */
export interface ArrangedCache {
  readonly folder: string;
  /** What the model is called there: one keeps one file for weights of the same names, types and shapes. */
  readonly model: string;
  /** Of the weights' values. */
  readonly weightsHash: string;
}

/** Less than this each session copies at once, and disk would be spent for little memory. */
const smallBytes = 64 * 1024 * 1024;

/**
 * The weights with their arranged copies beside them, mapped from a file. As they are where they lie in memory or are few.
 *
 * @param graph any that applies all weights as the model's sessions do
 * @throws what writing files throws, for instance for lack of room
 */
export async function mappedWeights(
  graph: Graph,
  { folder, model, weightsHash }: ArrangedCache,
  { weights, threads }: { readonly weights: Weights; readonly threads: number },
): Promise<Weights> {
  const inFiles = graph.parameters.filter(({ name }) => "file" in (weights.get(name) ?? {}));
  if (inFiles.reduce((sum, { value }) => sum + byteLengthOf(value), 0) < smallBytes) return weights;
  const shapes = inFiles.map(({ name, value: { dtype, shape } }) => [name, dtype, shape]);
  const modelKey = hashOf([model, shapes]);
  const name = `${modelKey}-${hashOf([arrangedFormat, cpus()[0]?.model, weightsHash])}.arranged`;
  const file = join(folder, name);
  const kept = withArrangedWeights(file, weights);
  if (kept !== null) return kept;
  mkdirSync(folder, { recursive: true });
  await writeArrangedWeights(file, graph, { weights, threads });
  // Of earlier weights, and what a process left that died while it wrote.
  for (const other of readdirSync(folder)) {
    if (other.startsWith(`${modelKey}-`) && other !== name) rmSync(join(folder, other), { recursive: true });
  }
  return withArrangedWeights(file, weights) ?? weights;
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}
