// Measures the best rates that this machine achieves with the same runtime, for comparison with the other benchmarks.
// Tries several candidates in several rounds, and reports the best rate. No code of Hone is measured.
import { GraphBuilder } from "../../src/lib/graph/builder.ts";
import type { Value } from "../../src/lib/graph/graph.ts";
import { elementCount, float32Tensor } from "../../src/lib/graph/tensor.ts";
import type { Tensor } from "../../src/lib/graph/tensor.ts";
import { createSession } from "../../src/inference/onnx/session.ts";

/** Minimum number of rounds; a program's first run is always slow. */
const ROUNDS_MIN = 3;

/** A program with one large operation. `work` is the number of arithmetic operations or bytes per run. */
interface Candidate {
  readonly work: number;
  readonly run: () => Promise<unknown>;
  readonly release: () => Promise<void>;
}

export interface LimitOptions {
  readonly threads: number;
  /** Total duration of the measured operations, excluding their preparation. */
  readonly seconds: number;
}

/** Returns the rate of the fastest float32 MatMul in floating-point operations per second. */
export async function matMulRate(options: LimitOptions): Promise<number> {
  return await bestRate(matMuls, options);
}

/** Returns the highest measured rate at which memory can be read, in bytes per second. */
export async function memoryRate(options: LimitOptions): Promise<number> {
  return await bestRate(memoryReads, options);
}

type Make = (threads: number) => Promise<Candidate>;

const matMuls: readonly Make[] = [512, 1024, 2048].map((size) => async (threads) => {
  const program = await prepare(threads, {
    dims: [size, size],
    weights: [size, size],
    compute: (builder, x, weight) => builder.matMul(x, weight),
  });
  return { ...program, work: 2 * size ** 3 };
});

// Each candidate reads 256 MB, which is more than any cache, and reads every byte once.
const memoryReads: readonly Make[] = [
  readCandidate([1, 2048], [2048, 32768]),
  readCandidate([1, 8192], [8192, 8192]),
  async (threads) => {
    const dims = [65536, 1024];
    const program = await prepare(threads, {
      dims,
      compute: (builder, x) => builder.reduceMax(x, [1]),
    });
    return { ...program, work: 4 * elementCount(dims) };
  },
];

function readCandidate(dims: readonly number[], weights: readonly number[]): Make {
  return async (threads) => {
    const compute = (builder: GraphBuilder, x: Value, weight: Value) => builder.matMul(x, weight);
    const program = await prepare(threads, { dims, weights, compute });
    return { ...program, work: 4 * elementCount(weights) };
  };
}

async function prepare(
  threads: number,
  program: {
    readonly dims: readonly number[];
    readonly weights?: readonly number[];
    readonly compute: (builder: GraphBuilder, x: Value, weight: Value) => Value;
  },
): Promise<Pick<Candidate, "run" | "release">> {
  const { dims, weights = [1], compute } = program;
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", dims);
  const graph = builder.build({ y: compute(builder, x, builder.parameter("weight", weights)) });
  const session = await createSession(graph, {
    threads,
    weights: new Map([["weight", { data: filled(weights).data }]]),
    // A plain layout is the fastest one with a single row, and no slower for large products.
    prepackWeights: false,
  });
  const feeds = { x: filled(dims) };
  return { run: () => session.run(feeds), release: () => session.release() };
}

function filled(dims: readonly number[]): Tensor<"float32"> {
  return float32Tensor(dims, new Float32Array(elementCount(dims)).fill(0.5));
}

async function bestRate(makers: readonly Make[], { threads, seconds }: LimitOptions): Promise<number> {
  let best = 0;
  for (const make of makers) {
    const candidate = await make(threads);
    const end = performance.now() + (1000 * seconds) / makers.length;
    for (let round = 0; round < ROUNDS_MIN || performance.now() < end; round++) {
      const start = performance.now();
      await candidate.run();
      best = Math.max(best, (1000 * candidate.work) / (performance.now() - start));
    }
    await candidate.release();
  }
  return best;
}
