// Runs training programs with float32 weights that are never all in memory. A program is cut into parts; each part's
// weights are read, used for all runs, and dropped. A program with gradients reads most weights twice or three times.
import { cutGraph, type GraphPart } from "../../../lib/graph/cut-graph.ts";
import type { Graph } from "../../../lib/graph/graph.ts";
import { float32Tensor, type Tensor } from "../../../lib/graph/tensor.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { assert } from "../../../base/domain/assert.ts";
import { float32Bytes, modelParameters } from "../../../inference/architectures/parameters.ts";
import { createSession } from "../../../inference/onnx/session.ts";
import { keyOf, ProgramGraphs } from "./program-graphs.ts";
import type { ProgramOutputs, ProgramRun } from "./programs.ts";

/** Maximum size in bytes of a part's weights, unless a single weight is larger. */
const partBytesMax = 256e6;

/** Returns the values of a weight, by its name. */
export type ReadFloats = (name: string) => Float32Array;

export interface StreamOptions {
  readonly readFloats: ReadFloats;
  /** Number of compute threads, including the calling thread. */
  readonly threads: number;
  /** Maximum size in bytes of a part's weights, unless a single weight is larger. Default 256 MB. */
  readonly partBytesMax?: number;
}

export class StreamedPrograms {
  readonly #options: StreamOptions;
  readonly #graphs: ProgramGraphs;

  constructor({ config, ...options }: StreamOptions & { readonly config: ModelConfig }) {
    this.#options = options;
    this.#graphs = new ProgramGraphs(config);
  }

  /**
   * Executes several runs of one program.
   *
   * @throws the errors of `createSession` and `Session.run`
   */
  run(runs: readonly ProgramRun[]): Promise<readonly ProgramOutputs[]> {
    const [{ program }] = runs;
    assert(new Set(runs.map((run) => keyOf(run.program))).size === 1, "runs of a round have one program");
    const feeds = runs.map((run) => run.feeds);
    return runStreamed(this.#graphs.of(program), feeds, this.#options);
  }
}

/**
 * Runs a graph once for each of `feeds`, part by part. Each part reads its weights once for all runs.
 *
 * @throws the errors of `createSession` and `Session.run`
 */
export async function runStreamed(
  graph: Graph,
  feeds: readonly Readonly<Record<string, Tensor>>[],
  options: StreamOptions,
): Promise<readonly ProgramOutputs[]> {
  const known = feeds.map((own): Record<string, Tensor> => ({ ...own }));
  const parts = cutGraph(graph, options.partBytesMax ?? partBytesMax);
  const lastReads = lastReadsIn(parts, graph.outputs);
  for (const [index, part] of parts.entries()) {
    await runPart(part, known, options);
    for (const tensors of known)
      for (const name of Object.keys(tensors)) if ((lastReads.get(name) ?? -1) <= index) delete tensors[name];
  }
  return known.map((tensors) => pick(tensors, graph.outputs));
}

/**
 * Runs a part of the program once for each run. `known` has the tensors that earlier parts computed for each run; adds
 * the part's outputs to them.
 */
async function runPart(
  { graph, weights }: GraphPart,
  known: readonly Record<string, Tensor>[],
  { readFloats, threads }: StreamOptions,
): Promise<void> {
  const economy = { prepackWeights: false, plansMemory: false, optimizesProgram: false };
  const session = await createSession(graph, { weights: new Map(), threads, ...economy });
  try {
    const read = Object.fromEntries(
      weights.map(({ name, value }) => [name, float32Tensor(value.shape.map(Number), readFloats(name))]),
    );
    for (const own of known) Object.assign(own, await session.run(pick({ ...own, ...read }, graph.inputs)));
  } finally {
    await session.release();
  }
}

/** Returns the index of the last part that reads each tensor; infinity for the program's outputs. */
function lastReadsIn(parts: readonly GraphPart[], outputs: Graph["outputs"]): ReadonlyMap<string, number> {
  const reads = parts.flatMap(({ graph }, index) => graph.inputs.map(({ name }) => [name, index] as const));
  return new Map([...reads, ...outputs.map(({ name }) => [name, Infinity] as const)]);
}

function pick(
  tensors: Readonly<Record<string, Tensor>>,
  named: Graph["inputs"],
): Readonly<Record<string, Tensor>> {
  return Object.fromEntries(named.map(({ name }) => [name, tensors[name]]));
}

/** Returns the maximum size in bytes of the weights that one part of a program reads. */
export function streamedBytes(config: ModelConfig): number {
  const sizes = modelParameters(config).map((parameter) => float32Bytes([parameter]));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return Math.min(total, Math.max(partBytesMax, ...sizes));
}
