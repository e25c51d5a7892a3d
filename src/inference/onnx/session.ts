/**
 * Runs a graph with onnxruntime on the CPU.
 *
 * `run` blocks the calling thread although it returns a promise, and ending a worker thread (or
 * calling `process.exit` in it) inside `run` aborts the whole process: sessions belong in child
 * processes that are stopped between runs or killed whole. Weights in files are memory-mapped.
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

// When it is imported, which is before any thread is started that computes.
silenceRuntime();

export interface SessionOptions {
  /** One source for each of the graph's parameters, by name; others are ignored. */
  readonly weights: ReadonlyMap<string, WeightSource>;
  /** How many threads compute, the caller's included. */
  readonly threads: number;
  /** What computes. Default `cpu`; another must be there (`devices.ts`). */
  readonly device?: Device;
  /**
   * Lets the runtime have a copy of the weights, arranged for its kernels, instead of reading them
   * from the mapped file: its own, or one that is mapped too (`arranged-weights.ts`). Default true.
   * One thread of an AMD Zen 4, linear layers of a 135 M
   * Llama: 14.9 ms with against 22.7 ms without at 1 row, 18 against 32 at 4, 30 against 48 at 16;
   * at 256 rows and in a training step 5 to 10 % faster. Without it a session costs no memory for
   * weights and loads at once, so it suits a session beside another of the same weights. Storing
   * weights transposed ([in, out]) changes nothing with it, and is no faster without.
   */
  readonly prepackWeights?: boolean;
  /**
   * Lets the runtime remember for every combination of sizes where each tensor lies, and take all of that as one piece the
   * next time. Default true. It holds that piece beside the memory of the first run: a training program needs half as much
   * without, at the same speed.
   */
  readonly plansMemory?: boolean;
  /**
   * Lets the runtime keep the memory that operations took for the session's next runs, in pieces that grow by powers of two.
   * Default true. Without, each result has memory of the C library's heap, which all sessions of the process share and which
   * gives back what is not needed: as fast, with sizes that change from run to run.
   */
  readonly keepsMemory?: boolean;
  /**
   * Lets the runtime change the program before it runs it, which our programs gain nothing from: they are in their final form.
   * Default true. It is half of the time that a large training program takes to load.
   */
  readonly optimizesProgram?: boolean;
  /**
   * Takes numbers below the smallest normal one (1.2e-38) for zero: softmax makes such numbers, and computing with them is many
   * times slower on some machines. Default true. The runtime does so in the threads that it starts, and in the one that
   * makes the process's first session, from which threads have it that it starts afterwards: where threads make sessions that
   * were started before, it is chance which of them that is, and only sessions without compute the same in all.
   */
  readonly flushesDenormals?: boolean;
}

/**
 * Every session has threads of its own, and those of one that spins in vain take the cores from the others. Long enough
 * for the next operation of the same run. End to end on a small model: 16 streams 1.4 times as fast as with the
 * runtime's own limit, one session alone unchanged.
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

/** Where the runtime writes a program that it has loaded: the model, and its weights with their arranged copies. */
export interface SavedProgram {
  readonly modelFile: string;
  /** Lies beside it. */
  readonly dataName: string;
}

/** As {@link createSession}, without what makes a session of it; `saved` writes the program as well. */
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
 * Makes the process's first session here, of next to nothing, before threads are started that compute; see
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
      // The runtime keeps each type in the array that `DataArrays` names.
      outputs[name] = { dtype: value.dtype, dims: result.dims, data: result.data } as Tensor;
    }
    return outputs;
  }

  /** Frees the program and its weights; the session is not used again. */
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
 * The model, and the weights that are handed over beside it.
 *
 * The runtime maps files or takes buffers, not both: buffers go into the model if there are files.
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
 * Who computes a program's operations, best first; what a provider does not know the next one computes.
 *
 * Attention stays on the processor: keys and values lie in its memory, and the runtime's kernel for WebGPU gives wrong numbers
 * for prompts of some 20 tokens and more on some adapters (microsoft/onnxruntime issue 26064).
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
