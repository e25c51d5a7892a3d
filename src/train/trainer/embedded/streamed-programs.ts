// Runs training programs with float32 weights that are never all in memory. A program is cut into parts; each part's
// weights are read, used for all runs, and dropped. A program with gradients reads most weights twice or three times.
import { cutGraph, type GraphPart } from "../../../lib/graph/cut-graph.ts";
import { type DividedTables, divideTables } from "../../../lib/graph/divide-tables.ts";
import type { Graph, NamedValue } from "../../../lib/graph/graph.ts";
import { float32Tensor, type Tensor } from "../../../lib/graph/tensor.ts";
import { byteLengthOf } from "../../../lib/graph/weight-source.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import type { ReadFloats } from "../../../inference/architectures/weights.ts";
import { assert } from "../../../base/domain/assert.ts";
import {
  float32Bytes,
  modelParameters,
  outputProjection,
} from "../../../inference/architectures/parameters.ts";
import { weightUseFor } from "../../../inference/architectures/quantized/weight-forms.ts";
import { createSession } from "../../../inference/onnx/session.ts";
import { keyOf, ProgramGraphs } from "./program-graphs.ts";
import type { ProgramOutputs, ProgramRun } from "./programs.ts";

/** Maximum size in bytes of a part's weights, unless a single matrix of a projection is larger. */
const partBytesMax = 128e6;

export interface StreamOptions {
  readonly readFloats: ReadFloats;
  /** Number of compute threads, including the calling thread. */
  readonly threads: number;
  /** Maximum size in bytes of a part's weights, unless a single matrix of a projection is larger. Default 128 MB. */
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
  const bytesMax = options.partBytesMax ?? partBytesMax;
  const divided = divideTables(graph, bytesMax);
  const parts = cutGraph(divided.graph, bytesMax);
  // All parts use the same memory for their weights. New arrays for each part would stay in memory until a collection
  // of garbage, which may be much later.
  const memory = new Float32Array(Math.max(0, ...parts.map(({ weights }) => sizeOfAll(weights))));
  const lastReads = lastReadsIn(parts, graph.outputs);
  for (const [index, part] of parts.entries()) {
    await runPart(part, known, { ...options, rows: divided.rows, memory });
    for (const tensors of known)
      for (const name of Object.keys(tensors)) if ((lastReads.get(name) ?? -1) <= index) delete tensors[name];
  }
  return known.map((tensors) => pick(tensors, graph.outputs));
}

interface PartOptions extends Pick<DividedTables, "rows"> {
  /** Memory for the part's weights. */
  readonly memory: Float32Array;
}

/** Returns the number of values of weights. */
function sizeOfAll(weights: readonly Pick<NamedValue, "value">[]): number {
  return weights.reduce((sum, { value }) => sum + byteLengthOf(value), 0) / Float32Array.BYTES_PER_ELEMENT;
}

/**
 * Runs a part of the program once for each run. `known` has the tensors that earlier parts computed for each run; adds
 * the part's outputs to them.
 */
async function runPart(
  { graph, weights }: GraphPart,
  known: readonly Record<string, Tensor>[],
  { readFloats, threads, rows, memory }: StreamOptions & PartOptions,
): Promise<void> {
  const economy = { prepackWeights: false, plansMemory: false, optimizesProgram: false };
  const session = await createSession(graph, { weights: new Map(), threads, ...economy });
  try {
    let end = 0;
    const read = Object.fromEntries(
      weights.map(({ name, value }) => {
        const values = memory.subarray(end, (end += sizeOfAll([{ value }])));
        const { name: whole, ...range } = rows.get(name) ?? { name };
        readFloats(whole, values, "from" in range ? range : null);
        return [name, float32Tensor(value.shape.map(Number), values)];
      }),
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
  const isTable = ({ name }: { readonly name: string }): boolean =>
    name === `${outputProjection(config).path}.weight` || weightUseFor(name, config).isLookedUp;
  const sizes = modelParameters(config).map((parameter) =>
    isTable(parameter) && config.logitCap === null
      ? Math.min(partBytesMax, float32Bytes([parameter]))
      : float32Bytes([parameter]),
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return Math.min(total, Math.max(partBytesMax, ...sizes));
}
