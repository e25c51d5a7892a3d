// For tests: short forms of requests, and a loop that runs until all requests have ended and records their events.
import { systemClock } from "../../../base/domain/clock.ts";
import type { Constraint } from "../../../base/domain/constraint.ts";
import type {
  AdapterReference,
  GenerationEvent,
  GenerationRequest,
  PromptLogprob,
  TokenAlternative,
} from "../../../base/domain/generation.ts";
import { plainSampling, type SamplingParameters } from "../../../base/domain/sampling.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";
import { EngineLoop, type DraftCounts, type LoopOptions, type Submission } from "../loop/engine-loop.ts";
import type { PrefixCounts } from "../loop/lanes.ts";
import type { GenerationOutput } from "../loop/sequence.ts";
import type { ModelRunner } from "../model-runner.ts";

/**
 * Parameters of a test's request. By default, the request is greedy, has one choice of 16 tokens, and uses nothing
 * else.
 */
export interface ShortRequest {
  readonly id?: string;
  readonly adapter?: AdapterReference | null;
  readonly sampling?: Partial<SamplingParameters>;
  readonly choiceCount?: number;
  /** Parameters of a beam search; absent if the choices are sampled. */
  readonly beams?: { readonly width: number; readonly lengthPenalty: number };
  readonly maxTokens?: number;
  readonly minTokens?: number;
  readonly stopTokenIds?: readonly number[];
  readonly topLogprobCount?: number | null;
  readonly promptLogprobCount?: number | null;
  readonly constraint?: Constraint | null;
  readonly priority?: number;
  readonly cacheOwner?: string;
  readonly cacheSalt?: string | null;
}

export function requestOf(tokenIds: readonly number[], more: ShortRequest = {}): GenerationRequest {
  const { id = "request", adapter = null, choiceCount = 1, maxTokens = 16, minTokens = 0 } = more;
  const { stopTokenIds = [], topLogprobCount = null, constraint = null, priority = 0 } = more;
  const { promptLogprobCount = null } = more;
  return {
    id,
    prompt: { tokenIds, adapter },
    sampling: { ...plainSampling, temperature: 0, seed: 1, ...more.sampling },
    constraint,
    stopping: { maxTokens, minTokens, stopTokenIds },
    outputs: { topLogprobCount, promptLogprobCount },
    choices: more.beams ? { kind: "beam", ...more.beams } : { kind: "sample", count: choiceCount },
    priority,
    cacheOwner: more.cacheOwner ?? "",
    cacheSalt: more.cacheSalt ?? null,
  };
}

export function withAdapter(request: GenerationRequest, adapter: AdapterReference | null): GenerationRequest {
  return { ...request, prompt: { ...request.prompt, adapter } };
}

/** All events of one request. */
export class Transcript implements GenerationOutput {
  readonly events: GenerationEvent[] = [];
  failure: string | null = null;
  /**
   * Milliseconds that the request waited before it began. They are removed from the events, so that tests can compare
   * events.
   */
  waitedMs: number | null = null;

  push(event: GenerationEvent): void {
    if (event.kind === "prompt-computed") {
      const { waitedMs = null, ...rest } = event;
      this.waitedMs = waitedMs;
      this.events.push(rest);
    } else {
      this.events.push(event);
    }
  }

  fail({ code, message }: ServiceError): void {
    this.failure = `${code}: ${message}`;
  }

  ids(choice = 0): readonly number[] {
    return this.#tokens(choice).map((token) => token.id);
  }

  logprobs(choice = 0): readonly number[] {
    return this.#tokens(choice).map((token) => token.logprob);
  }

  alternatives(choice = 0): readonly (readonly TokenAlternative[])[] {
    return this.#tokens(choice).map((token) => token.alternatives);
  }

  /** Returns the log-probabilities of the prompt's tokens, from all events that carry some. */
  promptLogprobs(): readonly (PromptLogprob | null)[] {
    return this.events.flatMap((event) => (event.kind === "prompt-logprobs" ? event.tokens : []));
  }

  /** Returns the embedding; null if the request got none. */
  embedding(): readonly number[] | null {
    const event = this.events.find(({ kind }) => kind === "embedding");
    return event?.kind === "embedding" ? [...event.values] : null;
  }

  finishes(): readonly string[] {
    return this.events.flatMap((event) =>
      event.kind === "choice-finished" ? [`${event.choice} ${event.reason} ${event.stopTokenId}`] : [],
    );
  }

  #tokens(choice: number) {
    return this.events.flatMap((event) =>
      event.kind === "tokens" && event.choice === choice ? event.tokens : [],
    );
  }
}

export const smallLimits = {
  slotCountMax: 16,
  kvCacheBytesMax: 2 ** 24,
  prefixCachePercent: 0,
  tokensPerStepMax: 64,
  promptChunkTokens: 32,
  // With this clock, calls seem to take no time, so prompts get unlimited time in each step.
  clock: { ...systemClock, monotonicMs: () => 0 },
} as const satisfies LoopOptions;

/** A loop that identifies requests by keys, by which tests find their transcripts. */
export class ObservedLoop {
  readonly #loop: EngineLoop;
  readonly #submissions = new Map<number, Submission>();
  readonly #transcripts = new Map<number, Transcript>();

  constructor(runner: ModelRunner, limits: LoopOptions) {
    this.#loop = new EngineLoop(runner, limits);
  }

  get hasWork(): boolean {
    return this.#loop.hasWork;
  }

  get cachedPrefixes(): PrefixCounts {
    return this.#loop.cachedPrefixes;
  }

  get draftCounts(): DraftCounts {
    return this.#loop.draftCounts;
  }

  get kvCacheBytes(): number {
    return this.#loop.kvCacheBytes;
  }

  transcript(key: number): Transcript {
    const found = this.#transcripts.get(key) ?? new Transcript();
    this.#transcripts.set(key, found);
    return found;
  }

  submit(key: number, request: GenerationRequest): void {
    this.#submissions.set(key, this.#loop.submit(request, this.transcript(key)));
  }

  stopChoice(key: number, choice: number): void {
    this.#submissions.get(key)?.stopChoice(choice);
  }

  abort(key: number): void {
    this.#submissions.get(key)?.abort();
  }

  dropAdapter(id: string): void {
    this.#loop.dropAdapter(id);
  }

  step(): Promise<void> {
    return this.#loop.step();
  }

  run(): Promise<void> {
    return this.#loop.run();
  }

  stop(): void {
    this.#loop.stop();
  }
}

/** Creates a loop, and a function that returns the transcript of a request by its key. */
export function observedLoop(
  runner: ModelRunner,
  limits: LoopOptions = smallLimits,
): { readonly loop: ObservedLoop; readonly transcript: (key: number) => Transcript } {
  const loop = new ObservedLoop(runner, limits);
  return { loop, transcript: (key) => loop.transcript(key) };
}

/** Runs requests together until all have ended, and returns their transcripts. The key of a request is its index. */
export async function runTogether(
  runner: ModelRunner,
  requests: readonly GenerationRequest[],
  limits: LoopOptions = smallLimits,
): Promise<readonly Transcript[]> {
  const { loop, transcript } = observedLoop(runner, limits);
  requests.forEach((request, key) => loop.submit(key, request));
  while (loop.hasWork) await loop.step();
  return requests.map((_, key) => transcript(key));
}
