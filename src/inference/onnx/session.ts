/**
 * Runs a graph with ONNX Runtime. `run` blocks the calling thread although it returns a promise, and ending a worker
 * thread (or calling `process.exit` in it) inside `run` aborts the whole process. So sessions belong in child processes
 * that are either stopped between runs or killed as a whole.
 */
import { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { assert, present } from "../../base/domain/assert.ts";
import type { Device } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { type Tensor, bindSymbols } from "../../lib/graph/tensor.ts";
import { GraphBuilder } from "../../lib/graph/builder.ts";
import type { Graph } from "../../lib/graph/graph.ts";
import { lower } from "../../lib/graph/onnx/lower.ts";
import { byteLengthOf, bytesOf, type WeightSource } from "../../lib/graph/weight-source.ts";
import { silenceRuntime } from "./environment.ts";
import { rootOfFiles } from "./file-root.ts";

// Called when this module is imported, which is before any computing thread starts.
silenceRuntime();

export interface SessionOptions {
  /** Sources of the graph's parameters, by name. Other entries are ignored. Weights in files are memory-mapped. */
  readonly weights: ReadonlyMap<string, WeightSource>;
  /** Number of computing threads, including the calling thread. */
  readonly threads: number;
  /** Compute device. Default `cpu`; any other device must be supported by the runtime (`devices.ts`). */
  readonly device?: Device;
  /**
   * True to compute with weights arranged for the runtime's kernels, from a private copy or a mapped file
   * (`arranged-weights.ts`). False to read the weights from the mapped model file. Default true.
   * * Linear layers of a 135 M Llama on one thread of an AMD Zen 4 take 14.9 ms if true and 22.7 ms if false at 1 row.
   * At 4 rows the times are 18 and 32 ms, at 16 rows 30 and 48 ms.
   * * At 256 rows and in a training step, computing is 5 to 10 % faster if true.
   * * If false, a session takes no memory for weights and loads immediately, which suits a second session over the same
   * weights.
   * * Storing weights transposed ([in, out]) does not change the speed in either case.
   */
  readonly prepackWeights?: boolean;
  /**
   * True to let the runtime plan the memory of all tensors for each combination of sizes, and allocate it as one block
   * in later runs. Default true. The block is allocated in addition to the first run's memory, so with false a training
   * program needs half as much memory, at the same speed.
   */
  readonly plansMemory?: boolean;
  /**
   * True to let the runtime keep the memory of operations for later runs of the session, in blocks that grow by powers
   * of two. Default true. If false, results use the C library's heap, which all sessions share and which returns
   * unneeded memory; this is as fast if sizes change from run to run.
   */
  readonly keepsMemory?: boolean;
  /**
   * True to let the runtime optimize the program before running it. Default true. Hone's programs gain nothing from
   * this, and it takes half of the load time of a large training program.
   */
  readonly optimizesProgram?: boolean;
  /**
   * True to treat denormal numbers (below 1.2e-38) as zero. Softmax produces denormals, and on some machines
   * arithmetic with them is many times slower. Default true.
   * * The runtime sets the processor's flag for this in its own threads and in the thread that creates the process's
   *   first session. Threads started later from that thread inherit the flag.
   * * If several threads create sessions concurrently, it is not deterministic which of them gets the flag. So results
   *   agree across threads only if this option is false.
   */
  readonly flushesDenormals?: boolean;
}

/**
 * Time in microseconds that an idle thread of a session spins. It is long enough for the next operation of the
 * same run, but short, because spinning threads take cores from other sessions. On a small model, 16 streams are 1.4
 * times as fast as with the runtime's own limit; a single session is unchanged.
 */
const spinMicroseconds = 50;

/**
 * Prepares a graph for running.
 *
 * @throws ServiceError `internal` if the runtime cannot load the program or its weights
 */
export async function createSession(graph: Graph, options: SessionOptions): Promise<Session> {
  return new Session(graph, await loadProgram(graph, options));
}

/**
 * Files into which the runtime writes a loaded program: the model, and its weights together with their arranged copies.
 */
export interface SavedProgram {
  readonly modelFile: string;
  /** Name of the data file, which is in the folder of the model file. */
  readonly dataName: string;
}

/**
 * Like {@link createSession}, but returns the runtime's own session object. If `saved` is given, also writes the loaded
 * program to those files.
 */
export async function loadProgram(
  graph: Graph,
  options: SessionOptions,
  saved: SavedProgram | null = null,
): Promise<InferenceSession> {
  const { model, root, externalData, attentionNames } = lowerWithWeights(graph, options.weights);
  try {
    return await InferenceSession.create(model, {
      ...ortOptions(options, root, saved),
      executionProviders: providersOf[options.device ?? "cpu"](attentionNames),
      ...(externalData.length > 0 ? { externalData } : {}),
    });
  } catch (cause) {
    throw new ServiceError({
      code: "internal",
      message: "The tensor program could not be loaded.",
      cause,
    });
  }
}

/**
 * Makes this thread, and all threads that it starts later, treat denormal numbers as zero (see `flushesDenormals`). For
 * this, creates and releases a minimal session, which must be the first session of the process.
 */
export async function flushDenormals(): Promise<void> {
  const builder = new GraphBuilder();
  const graph = builder.build({ y: builder.negate(builder.input("x", "float32", [1])) });
  const session = await createSession(graph, { weights: new Map(), threads: 1 });
  await session.release();
}

export class Session {
  readonly graph: Graph;
  readonly #session: InferenceSession;

  /** Internal. Callers use `createSession` instead. */
  constructor(graph: Graph, session: InferenceSession) {
    this.graph = graph;
    this.#session = session;
  }

  /**
   * Computes the outputs for the given inputs.
   *
   * @param feeds one tensor per input; read in place during the run, and not used afterwards
   * @returns new arrays that the caller owns
   * @throws ServiceError `internal` if the runtime fails, for instance for lack of memory
   */
  async run(feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>> {
    bindSymbols(this.graph, feeds);
    const inputs: Record<string, OrtTensor> = {};
    for (const [name, { dtype, data, dims }] of Object.entries(feeds)) {
      inputs[name] = new OrtTensor(dtype, data, dims);
    }
    const results = await this.#run(inputs);
    const outputs: Record<string, Tensor> = {};
    for (const { name, value } of this.graph.outputs) {
      const result = results[name];
      assert(result?.type === value.dtype, `output ${name} is ${value.dtype}, got ${result?.type}`);
      // Safe cast: the runtime returns each data type in the array class that `DataArrays` names.
      outputs[name] = { dtype: value.dtype, dims: result.dims, data: result.data } as Tensor;
    }
    return outputs;
  }

  /** Frees the program and its weights. The session must not be used after that. */
  async release(): Promise<void> {
    await this.#session.release();
  }

  async #run(inputs: Record<string, OrtTensor>): Promise<InferenceSession.ReturnType> {
    try {
      return await this.#session.run(inputs);
    } catch (cause) {
      throw new ServiceError({ code: "internal", message: "The tensor program failed.", cause });
    }
  }
}

/**
 * Returns the model, and the weights that are passed separately from it. The runtime accepts either only mapped files
 * or only buffers. If any weight is in a file, weights in buffers are therefore embedded in the model.
 */
function lowerWithWeights(graph: Graph, weights: SessionOptions["weights"]) {
  const lengths = new Map(graph.parameters.map(({ name, value }) => [name, byteLengthOf(value)]));
  const sourceOf = (name: string): WeightSource => present(weights.get(name), `a source of weight ${name}`);
  const files = graph.parameters.flatMap(({ name }) => {
    const source = sourceOf(name);
    return "file" in source ? [source.file] : [];
  });
  const root = rootOfFiles(files);
  const externalData: { path: string; data: Uint8Array }[] = [];
  const attentionNames: string[] = [];
  const sourceInModel = (name: string): WeightSource => {
    const source = sourceOf(name);
    if ("file" in source) {
      return { ...source, file: root.pathOf(source.file) };
    }
    const bytes = bytesOf(source.data);
    assert(
      bytes.length === lengths.get(name),
      `weight ${name} has ${lengths.get(name)} bytes, got ${bytes.length}`,
    );
    if (files.length > 0) return source;
    externalData.push({ path: name, data: bytes });
    return { file: name, offset: 0 };
  };
  const model = lower(graph, sourceInModel, (operation, name) => {
    if (operation === "GroupQueryAttention") attentionNames.push(name);
  });
  return { model, root: root.folder, externalData, attentionNames };
}

/**
 * Execution providers for each device, best first; an operation that a provider lacks runs on the next one.
 *
 * Attention always runs on the CPU, because its keys and values are in main memory. On some GPUs, the runtime's
 * WebGPU kernel also gives wrong results for prompts of about 20 tokens or more (microsoft/onnxruntime issue 26064).
 */
const providersOf: {
  readonly [D in Device]: (
    attentionNames: readonly string[],
  ) => InferenceSession.SessionOptions["executionProviders"];
} = {
  cpu: () => ["cpu"],
  // `forceCpuNodeNames` is left out if it is empty, because the runtime refuses an empty list.
  webgpu: (names) => [{ name: "webgpu", ...(names.length > 0 && { forceCpuNodeNames: names }) }, "cpu"],
};

function ortOptions(
  {
    threads,
    prepackWeights = true,
    plansMemory = true,
    keepsMemory = true,
    optimizesProgram = true,
    flushesDenormals = true,
  }: SessionOptions,
  root: string,
  saved: SavedProgram | null,
): InferenceSession.SessionOptions {
  return {
    ...(saved && { optimizedModelFilePath: saved.modelFile }),
    executionMode: "sequential",
    // Measured: higher levels of optimization are not faster.
    graphOptimizationLevel: optimizesProgram ? "basic" : "disabled",
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    enableMemPattern: plansMemory,
    enableCpuMemArena: keepsMemory,
    logSeverityLevel: 3,
    extra: {
      session: {
        model_external_initializers_file_folder_path: root,
        intra_op: { allow_spinning: "1", spin_duration_us: `${spinMicroseconds}` },
        disable_prepacking: prepackWeights ? "0" : "1",
        set_denormal_as_zero: flushesDenormals ? "1" : "0",
        ...(saved && {
          save_external_prepacked_constant_initializers: "1",
          optimized_model_external_initializers_file_name: saved.dataName,
          optimized_model_external_initializers_min_size_in_bytes: "1",
        }),
      },
    },
  };
}
