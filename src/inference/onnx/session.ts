/**
 * Runs a graph with onnxruntime on the CPU. `run` blocks the calling thread although it returns a promise, and ending
 * a worker thread (or calling `process.exit` in it) inside `run` aborts the whole process. So sessions belong in child
 * processes that are stopped between runs or killed whole.
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

// On import, which is before any computing thread is started.
silenceRuntime();

export interface SessionOptions {
  /** One source for each of the graph's parameters, by name; others are ignored. Weights in files are memory-mapped. */
  readonly weights: ReadonlyMap<string, WeightSource>;
  /** Number of computing threads, including the caller's. */
  readonly threads: number;
  /** Compute device. Default `cpu`; another must be available (`devices.ts`). */
  readonly device?: Device;
  /**
   * True to compute with weights arranged for the runtime's kernels, in a private copy or a mapped one
   * (`arranged-weights.ts`), instead of reading the mapped file. Default true.
   * * Linear layers of a 135 M Llama on one thread of an AMD Zen 4: 14.9 ms with against 22.7 ms without at 1 row, 18
   *   against 32 at 4, 30 against 48 at 16.
   * * At 256 rows and in a training step it is 5 to 10 % faster.
   * * If false, a session takes no memory for weights and loads immediately, which suits a second session of the same
   *   weights.
   * * Storing weights transposed ([in, out]) changes nothing if true, and is no faster if false.
   */
  readonly prepackWeights?: boolean;
  /**
   * True to let the runtime plan the memory of all tensors for each combination of sizes, and allocate it in one piece
   * in later runs. Default true. It holds that piece in addition to the memory of the first run: a training program
   * needs half as much if false, at the same speed.
   */
  readonly plansMemory?: boolean;
  /**
   * True to let the runtime keep operations' memory for the session's next runs, in pieces that grow by powers of two.
   * Default true. If false, results use the C library's heap, which all sessions of the process share and which
   * returns unneeded memory: as fast, with sizes that change from run to run.
   */
  readonly keepsMemory?: boolean;
  /**
   * True to let the runtime optimize the program before running it, from which Hone's programs gain nothing. Default
   * true. It is half of the load time of a large training program.
   */
  readonly optimizesProgram?: boolean;
  /**
   * True to treat numbers below the smallest normal one (1.2e-38) as zero: softmax produces them, and computing with
   * them is many times slower on some machines. Default true.
   * * It applies to threads that the runtime starts, and to the thread of the process's first session and those
   *   started from it later.
   * * If threads that already run create sessions, which one is first is chance, and only sessions with false compute
   *   the same in all.
   */
  readonly flushesDenormals?: boolean;
}

/**
 * Each session has its own threads, and those that spin idly take the cores from other sessions. Long enough for the
 * next operation of the same run. End to end on a small model: 16 streams are 1.4 times as fast as with the runtime's
 * own limit; a single session is unchanged.
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

/** Location where the runtime writes a loaded program: the model, and its weights with their arranged copies. */
export interface SavedProgram {
  readonly modelFile: string;
  /** File next to the model file. */
  readonly dataName: string;
}

/** Like {@link createSession}, but returns only the runtime's session; `saved` also writes the program. */
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
 * Creates the process's first session here, a minimal one, before computing threads are started; see
 * `flushesDenormals`.
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

  /** Use `createSession`. */
  constructor(graph: Graph, session: InferenceSession) {
    this.graph = graph;
    this.#session = session;
  }

  /**
   * Computes the outputs.
   *
   * @param feeds a tensor for every input, read in place during the run only
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
      // The runtime stores each type in the array that `DataArrays` names.
      outputs[name] = { dtype: value.dtype, dims: result.dims, data: result.data } as Tensor;
    }
    return outputs;
  }

  /** Frees the program and its weights; the session must not be used again. */
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
 * Returns the model, and the weights that are passed separately. The runtime maps files or takes buffers, not both: if
 * there are files, buffers go into the model.
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
 * Providers that compute a program's operations, best first; the next one computes what a provider lacks.
 *
 * Attention stays on the processor: keys and values are in its memory, and the runtime's kernel for WebGPU gives wrong
 * numbers for prompts of about 20 tokens and more on some adapters (microsoft/onnxruntime issue 26064).
 */
const providersOf: {
  readonly [D in Device]: (
    attentionNames: readonly string[],
  ) => InferenceSession.SessionOptions["executionProviders"];
} = {
  cpu: () => ["cpu"],
  // It refuses an empty list.
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
    // Higher levels gained nothing.
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
