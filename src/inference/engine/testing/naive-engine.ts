// For tests: the naive engine, without any optimization. It computes one choice of one request at a time, and
// recomputes the whole sequence for every token. Scheduling cannot change its answers, so all other engines are
// compared with it.
import { setImmediate } from "node:timers/promises";
import { present } from "../../../base/domain/assert.ts";
import {
  choiceCountOf,
  constraintFeatures,
  type AdapterReference,
  type Engine,
  type EngineCapabilities,
  type EngineState,
  type EngineStatus,
  type GeneratedToken,
  type Generation,
  type GenerationRequest,
  type PromptLogprob,
  type RankedToken,
} from "../../../base/domain/generation.ts";
import { serviceOf } from "../../../base/domain/lifecycle.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { unpackVocabulary, type TokenVocabulary } from "../../../base/domain/vocabulary.ts";
import { readLanguage } from "../../../lib/constraints/grammar/language.ts";
import { defaultGrammarLimits } from "../../../lib/constraints/regex/limits.ts";
import { CompiledConstraint } from "../../../lib/constraints/grammar/matcher.ts";
import { allowedByTrying } from "../../../lib/constraints/grammar/testing/try-every-token.ts";
import { buildTokenTrie } from "../../../lib/constraints/grammar/trie/token-trie.ts";
import type { ScoreProcessor } from "../logits/draw-input.ts";
import { processorNames } from "../logits-processors/registrations.ts";
import { loadProcessors, type ProcessorRegistry } from "../logits-processors/processor-registry.ts";
import type { GenerationStream } from "../generation-stream.ts";
import { Generations, unavailable } from "../generations.ts";
import { searchEvents, type Scores } from "./naive-beams.ts";
import { openNaiveModel, type NaiveModel } from "./naive-model.ts";
import { drawPlainly, plainLogprobs, rankedIds, type PlainAllowance } from "./plain-sampler.ts";

export interface NaiveOptions {
  readonly modelFolder: string;
  readonly vocabulary: TokenVocabulary;
  readonly waitingCountMax: number;
}

interface Job {
  readonly request: GenerationRequest;
  readonly stream: GenerationStream;
  /** Choices that have not been stopped. */
  readonly wanted: Set<number>;
}

export class NaiveEngine implements Engine {
  readonly capabilities: EngineCapabilities = {
    features: new Set([
      ...constraintFeatures,
      "min-p",
      "top-n-sigma",
      "penalties",
      "logit-bias",
      "allowed-token-ids",
      "bad-words",
      "logits-processors",
      "min-tokens",
      "priority",
      "cache-salt",
      "prompt-logprobs",
      "beam",
      "embeddings",
    ]),
    isExact: true,
    processors: processorNames([]),
  };
  readonly #options: NaiveOptions;
  readonly #generations: Generations;
  #model: NaiveModel | null = null;
  #processors: ProcessorRegistry | null = null;
  /** Waiting and running requests. The first one runs; the others are ordered by priority, then by arrival. */
  readonly #jobs: Job[] = [];
  #state: EngineState = { kind: "starting", reason: "The engine has not been started." };
  #working: Promise<void> = Promise.resolve();
  readonly #life = serviceOf("naive engine", {
    start: async (signal) => {
      this.#model = await openNaiveModel(this.#options.modelFolder);
      const { vocabularySize, contextLength, width: embeddingSize } = this.#model.config;
      const { vocabulary } = this.#options;
      this.#processors = await loadProcessors([], { vocabulary, vocabularySize });
      const limits = { contextLength, vocabularySize, embeddingSize };
      if (!signal.aborted) this.#state = { kind: "ready", limits };
    },
    stop: async () => {
      this.#state = { kind: "stopped", reason: "The engine is stopped." };
      this.#generations.failAll("The engine is being stopped.");
      await this.#working;
      await this.#model?.close();
    },
  });

  constructor(options: NaiveOptions) {
    this.#options = options;
    this.#generations = new Generations(this.capabilities, options.waitingCountMax);
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  submit(request: GenerationRequest): Generation {
    const wanted = new Set(Array.from({ length: choiceCountOf(request) }, (_, choice) => choice));
    const stream = this.#generations.open(
      request,
      { state: this.#state, room: this.roomFor() },
      {
        onStopChoice: (choice) => wanted.delete(choice),
        onAbort: () => wanted.clear(),
        onEnd: () => this.#jobs.splice(this.#jobs.indexOf(job), 1),
      },
    );
    const job: Job = { request, stream, wanted };
    this.#jobs.push(job);
    const model = present(this.#model, "the model of an engine that is ready");
    this.#working = this.#working.then(() => this.#answerNext(model));
    return stream;
  }

  roomFor(): number {
    return this.#state.kind === "ready" ? this.#state.limits.contextLength : 0;
  }

  async prepareAdapter(reference: AdapterReference): Promise<void> {
    if (this.#model === null) throw unavailable("The engine is not up.");
    this.#model.loadAdapter(reference);
  }

  dropAdapter(id: string): void {
    this.#model?.dropAdapter(id);
  }

  status(): EngineStatus {
    return this.#generations.status(this.#state, () => []);
  }

  /** Answers the next request; does nothing if all were aborted. */
  async #answerNext(model: NaiveModel): Promise<void> {
    const order = this.#jobs.toSorted((one, other) => one.request.priority - other.request.priority);
    this.#jobs.splice(0, order.length, ...order);
    if (order.length > 0) await this.#answer(order[0], model);
  }

  async #answer(job: Job, model: NaiveModel): Promise<void> {
    const { request, stream, wanted } = job;
    try {
      const allowanceAfter = allowances(request, this.#options.vocabulary);
      const registry = present(this.#processors, "the processors of an engine that is ready");
      const processors = registry.open(request.sampling);
      const adapter = model.loadAdapter(request.prompt.adapter);
      const notices = noticesOf(request);
      if (notices.length > 0) stream.push({ kind: "constraint-noted", notices });
      const { promptLogprobCount } = request.outputs;
      if (promptLogprobCount !== null) {
        const { tokenIds } = request.prompt;
        const logits_TV = await model.logitsAfterEach(tokenIds, adapter);
        const scored = tokenIds
          .slice(1)
          .map((id, row) => rankedTokenOf(id, logits_TV[row], promptLogprobCount));
        stream.push({ kind: "prompt-logprobs", tokens: [null, ...scored] });
      }
      stream.push({ kind: "prompt-computed", cachedTokenCount: 0 });
      if (request.outputs.embedding === true) {
        const values = await model.hiddenAfter(request.prompt.tokenIds, adapter);
        return stream.push({ kind: "embedding", values });
      }
      const nextScores: NextScores = async (answer) => ({
        logits: await model.logitsAfter([...request.prompt.tokenIds, ...answer], adapter),
        allowance: allowanceAfter?.(answer) ?? null,
      });
      if (request.choices.kind === "beam") return await this.#search(job, nextScores);
      // Choices that are stopped meanwhile are removed from the set, so the loop skips them.
      for (const choice of wanted) await this.#answerChoice(job, choice, { nextScores, processors });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      stream.fail(error);
    }
  }

  async #search({ request, stream, wanted }: Job, nextScores: NextScores): Promise<void> {
    const events = await searchEvents(request, async (answer) => {
      await setImmediate();
      if (wanted.size === 0 || this.#state.kind !== "ready") throw unavailable("Nobody wants the answers.");
      return nextScores(answer);
    });
    if (events.length === 0) throw unsupported("No token continues the answer.");
    for (const event of events) stream.push(event);
  }

  async #answerChoice(
    { request, stream, wanted }: Job,
    choice: number,
    {
      nextScores,
      processors,
    }: {
      readonly nextScores: NextScores;
      readonly processors: readonly ScoreProcessor[];
    },
  ): Promise<void> {
    const random = seededRandom(request.sampling.seed, choice);
    const { maxTokens, stopTokenIds } = request.stopping;
    const answer: number[] = [];
    while (wanted.has(choice) && this.#state.kind === "ready") {
      const { logits, allowance } = await nextScores(answer);
      const id = drawPlainly(logits, { request, answer, allowance, processors }, () => random.uniform());
      if (id === null) {
        if (allowance?.mayEnd !== true) throw unsupported("No token continues the answer.");
        stream.push({ kind: "choice-finished", choice, reason: "stop", stopTokenId: null });
        return;
      }
      answer.push(id);
      const tokens = [tokenOf(id, logits, request.outputs.topLogprobCount)];
      stream.push({ kind: "tokens", choice, tokens });
      const stopTokenId = stopTokenIds.includes(id) ? id : null;
      if (stopTokenId !== null || answer.length === maxTokens) {
        const reason = stopTokenId === null ? "length" : "stop";
        stream.push({ kind: "choice-finished", choice, reason, stopTokenId });
        return;
      }
      // Gives the reader time to react to the events so far.
      await setImmediate();
    }
  }
}

type NextScores = (answer: readonly number[]) => Promise<Scores>;

/** Returns a function that gives the tokens that may follow an answer; null if the request has no constraint. */
function allowances(
  { constraint }: GenerationRequest,
  vocabulary: TokenVocabulary,
): ((answer: readonly number[]) => PlainAllowance) | null {
  if (constraint === null) return null;
  const language = readLanguage(constraint, defaultGrammarLimits);
  const bytesOf = unpackVocabulary(vocabulary);
  const trie = buildTokenTrie({ bytes: bytesOf });
  return (answer) => {
    const text = Buffer.concat(answer.map((id) => bytesOf[id] ?? new Uint8Array()));
    const matcher = new CompiledConstraint(language, trie).matcher();
    for (const id of answer) matcher.accept(id);
    return { ids: new Set(allowedByTrying(language, trie, text)), mayEnd: matcher.mayEnd };
  };
}

function noticesOf({ constraint }: GenerationRequest): readonly string[] {
  return constraint === null ? [] : readLanguage(constraint, defaultGrammarLimits).notices;
}

function tokenOf(id: number, logits: readonly number[], topLogprobCount: number | null): GeneratedToken {
  if (topLogprobCount === null) return { id, logprob: NaN, alternatives: [] };
  const logprobs = plainLogprobs(logits);
  const best = rankedIds(logits).slice(0, topLogprobCount);
  return {
    id,
    logprob: logprobs[id],
    alternatives: best.map((other) => ({ id: other, logprob: logprobs[other] })),
  };
}

function rankedTokenOf(id: number, logits: readonly number[], alternativeCount: number): PromptLogprob {
  const logprobs = plainLogprobs(logits);
  const ranked = (one: number): RankedToken => {
    const rank = logits.filter((logit) => logit >= logits[one]).length;
    return { id: one, logprob: logprobs[one], rank };
  };
  return { ...ranked(id), alternatives: rankedIds(logits).slice(0, alternativeCount).map(ranked) };
}

function unsupported(message: string): ServiceError {
  return new ServiceError({ code: "unsupported", message });
}
