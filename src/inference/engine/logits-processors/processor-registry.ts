// The logits processors of an engine. Their modules are loaded once, when the engine starts. Each request opens the
// processors that it names, with its own arguments; if a processor fails or exceeds its time limit, that request fails
// with an error that names the processor.
import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { present } from "../../../base/domain/assert.ts";
import type { LogitsProcessorCall, SamplingParameters } from "../../../base/domain/sampling.ts";
import { requirePlainFile } from "../../../base/domain/transient-errors/plain-file.ts";
import { cut, quoted, ServiceError } from "../../../base/domain/service-error.ts";
import type { TokenVocabulary } from "../../../base/domain/vocabulary.ts";
import type { ScoreProcessor, TokenHistory } from "../logits/draw-input.ts";
import * as noRepeatNgram from "./no-repeat-ngram.ts";
import { callWithin, CallTimeout } from "./call-within.ts";
import { modelOf, type ProcessorModel } from "./processor-model.ts";
import type { ProcessorModule, TokenProcessor } from "./processor.ts";
import type { includedNames, Registration } from "./registrations.ts";
import * as thinkingBudget from "./thinking-budget.ts";

const included: Readonly<Record<(typeof includedNames)[number], ProcessorModule>> = {
  "no-repeat-ngram": noRepeatNgram,
  "thinking-budget": thinkingBudget,
};

/**
 * Loads the modules of the registered processors.
 *
 * @throws ServiceError `invalid` for a module that cannot be loaded or exports no `createProcessor`
 */
export async function loadProcessors(
  registrations: readonly Registration[],
  model: { readonly vocabulary: TokenVocabulary; readonly vocabularySize: number },
): Promise<ProcessorRegistry> {
  const modules = new Map<string, ProcessorModule>(Object.entries(included));
  for (const { name, file } of registrations) modules.set(name, await loadModule(name, file));
  return new ProcessorRegistry(modules, modelOf(model));
}

async function loadModule(name: string, file: string): Promise<ProcessorModule> {
  const refusal = (what: string, cause?: unknown): ServiceError => {
    const message = `engine.logitsProcessors: the module ${file} of ${quoted(name)} ${what}.`;
    return new ServiceError({ code: "invalid", message, cause });
  };
  let loaded: unknown;
  try {
    requirePlainFile(file, statSync(file));
    loaded = await import(pathToFileURL(file).href);
  } catch (cause) {
    throw refusal(`cannot be loaded: ${reasonOf(cause)}`, cause);
  }
  if (!isModule(loaded)) throw refusal("exports no function createProcessor");
  return loaded;
}

function isModule(loaded: unknown): loaded is ProcessorModule {
  return typeof loaded === "object" && loaded !== null && "createProcessor" in loaded
    ? typeof loaded.createProcessor === "function"
    : false;
}

/**
 * Time limit in milliseconds for one call of an operator's function. All requests wait during a call; a loop over a
 * vocabulary takes a thousandth of this limit.
 */
const callMsMax = 1000;

/**
 * Calls a function of a module. Functions of operators' modules have the time limit; those of built-in modules have
 * none.
 */
type Call = (call: () => unknown) => unknown;

const trusted: Call = (call) => call();
const bounded: Call = (call) => callWithin(callMsMax, call);

export class ProcessorRegistry {
  readonly #modules: ReadonlyMap<string, ProcessorModule>;
  readonly #model: ProcessorModel;

  /** Internal. Callers use {@link loadProcessors} instead. */
  constructor(modules: ReadonlyMap<string, ProcessorModule>, model: ProcessorModel) {
    this.#modules = modules;
    this.#model = model;
  }

  /**
   * Opens the processors of a request, in the order in which the request names them. An opened processor has no state
   * that belongs to a choice, so all choices of the request share it.
   *
   * @param sampling parameters that name registered processors
   * @throws ServiceError `unsupported` naming the processor that does not accept its arguments
   */
  open({ processors, extraArguments }: SamplingParameters): readonly ScoreProcessor[] {
    return processors.map((call, index) => this.#openOne(call, { index, extra: extraArguments }));
  }

  #openOne(
    { name, args, kwargs }: LogitsProcessorCall,
    { index, extra }: { readonly index: number; readonly extra: SamplingParameters["extraArguments"] },
  ): ScoreProcessor {
    const { createProcessor } = present(this.#modules.get(name), "the module of a registered processor");
    const refusal = (what: string, cause?: unknown): ServiceError => {
      const message = `The logits processor ${quoted(name)} ${what}.`;
      const location = ["sampling", "processors", String(index)];
      return new ServiceError({
        code: "unsupported",
        faults: [{ location, message, type: "value_error" }],
        cause,
      });
    };
    const run = Object.hasOwn(included, name) ? trusted : bounded;
    let process: unknown;
    try {
      // The arguments are copied, because a processor could change them. The same request may be opened again, and all
      // its processors get the same extra arguments.
      const call = { ...structuredClone({ args, kwargs, extra }), model: this.#model };
      process = run(() => createProcessor(call));
    } catch (cause) {
      if (cause instanceof CallTimeout) throw refusal(`${overdue} at these arguments`, cause);
      throw refusal(`does not take these arguments: ${reasonOf(cause)}`, cause);
    }
    if (isDropped(process)) throw refusal("is broken: createProcessor is asynchronous");
    if (typeof process !== "function") throw refusal("is broken: createProcessor returned no function");
    // Unchecked cast: the module promises to return a `TokenProcessor`, and the result of each call is checked.
    return new OpenProcessor(process as TokenProcessor, { run, refusal });
  }
}

const overdue = `was stopped after ${callMsMax} ms, since everybody waits while it computes,`;

class OpenProcessor implements ScoreProcessor {
  readonly #process: TokenProcessor;
  readonly #run: Call;
  readonly #refusal: (what: string, cause?: unknown) => ServiceError;
  /**
   * Error of the first call that exceeded the time limit; null if none did. After that, the processor is not called
   * again: each further choice of the request would wait equally long for the same error.
   */
  #stopped: ServiceError | null = null;
  /**
   * Buffer with a copy of the logits, which is given to the module. The module may detach the buffer, keep it, or write
   * beyond its part. In the model's own buffer, this would damage the logits of other requests.
   */
  #given_V = new Float32Array(0);
  /** Copy of the prompt for the module (`ids`), and the array from which it was copied (`of`). */
  #promptCopy: { readonly of: readonly number[]; readonly ids: readonly number[] } | null = null;

  constructor(
    process: TokenProcessor,
    how: { readonly run: Call; readonly refusal: (what: string, cause?: unknown) => ServiceError },
  ) {
    this.#process = process;
    this.#run = how.run;
    this.#refusal = how.refusal;
  }

  apply(scores_V: Float32Array, { prompt, answerIds }: TokenHistory): void {
    if (this.#stopped !== null) throw this.#stopped;
    if (this.#given_V.length !== scores_V.length) this.#given_V = new Float32Array(scores_V.length);
    const given_V = this.#given_V;
    given_V.set(scores_V);
    const promptTokenIds = this.#promptOf(prompt.ids);
    let result: unknown;
    try {
      // The answer is copied, so that the module cannot change the history.
      const context = { promptTokenIds, answerTokenIds: answerIds.slice(), logits: given_V };
      result = this.#run(() => this.#process(context));
    } catch (cause) {
      if (cause instanceof CallTimeout) {
        this.#stopped = this.#refusal(`${overdue} at the answer's token ${answerIds.length}`, cause);
        throw this.#stopped;
      }
      throw this.#refusal(`failed: ${reasonOf(cause)}`, cause);
    }
    if (isDropped(result))
      throw this.#refusal("is broken: it is asynchronous, and the engine does not wait for it");
    if (given_V.length !== scores_V.length)
      throw this.#refusal("is broken: it detached the buffer of its scores");
    for (let id = 0; id < given_V.length; id++) {
      // The comparison is false for NaN, so NaN is refused too.
      if (!(given_V[id] < Infinity)) throw this.#refusal(`made the score of token ${id} ${given_V[id]}`);
    }
    scores_V.set(given_V);
  }

  /**
   * Returns a frozen copy of the prompt, made once per request. A module that tries to change the copy fails at that
   * statement.
   */
  #promptOf(ids: readonly number[]): readonly number[] {
    if (this.#promptCopy?.of !== ids) this.#promptCopy = { of: ids, ids: Object.freeze(ids.slice()) };
    return this.#promptCopy.ids;
  }
}

/**
 * True if a result is a promise. Nobody awaits such a promise, and an unhandled rejection would end the process, so
 * this function catches rejections.
 */
function isDropped(result: unknown): boolean {
  if (!(result instanceof Promise)) return false;
  result.catch(() => undefined);
  return true;
}

/** Describes a thrown value for the caller of the API: shortened if long, and without a full stop. */
function reasonOf(cause: unknown): string {
  try {
    const reason: unknown = cause instanceof Error ? cause.message : cause;
    return cut(String(reason)).replace(/\.$/, "");
  } catch {
    // Converting the value to a string failed: it has no prototype, or a getter that throws. Throwing this error would
    // stop the engine.
    return "it threw a value without text";
  }
}
