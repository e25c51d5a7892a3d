// The pieces of vLLM's answer as events of a generation. What vLLM does otherwise than the contract says is put right here
// where that is exact, and else ends the request: choices of a greedy request are drawn once, and a token that the request
// forbids says that none was left to draw. The last choice ends with the answer, whose end says how much of the prompt was
// there.
import type { GeneratedToken, GenerationEvent, GenerationRequest } from "../../../base/domain/generation.ts";
import { choiceCountOf } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ChoiceChunk, CompletionChunk } from "./read-completion.ts";
import { strangeAnswer, VllmRefusal } from "./vllm-errors.ts";

export class AnswerReader {
  readonly #request: GenerationRequest;
  readonly #vocabularySize: number;
  readonly #stopTokenIds: ReadonlySet<number>;
  readonly #allowedTokenIds: ReadonlySet<number> | null;
  /** How many tokens each choice of the answer has; it has ended where it is absent. */
  readonly #tokenCounts = new Map<number, number>();
  /** What ends the last of its choices. */
  #lastFinish: readonly GenerationEvent[] = [];
  #cachedTokenCount = 0;
  /** The id of the answer, which its first piece names; null before it. */
  #answerId: string | null = null;
  /** Of each choice of the answer those of the request. */
  readonly #choicesOf: (choice: number) => readonly number[];

  constructor(request: GenerationRequest, { vocabularySize }: { readonly vocabularySize: number }) {
    const { sampling, stopping } = request;
    const count = choiceCountOf(request);
    this.#request = request;
    this.#vocabularySize = vocabularySize;
    this.#stopTokenIds = new Set(stopping.stopTokenIds);
    this.#allowedTokenIds = sampling.allowedTokenIds && new Set(sampling.allowedTokenIds);
    const isGreedy = sampling.temperature === 0;
    const all = Array.from({ length: count }, (_, choice) => choice);
    this.#choicesOf = isGreedy ? () => all : (choice) => [choice];
    for (const choice of isGreedy ? [0] : all) this.#tokenCounts.set(choice, 0);
  }

  /** Whether all of its choices have ended. */
  get isWhole(): boolean {
    return this.#tokenCounts.size === 0;
  }

  /**
   * The events of a piece, in order, but for the end of the last choice.
   *
   * @throws ServiceError `unsupported` where no token was left to draw; `unavailable` for what cannot be an answer
   */
  read(chunk: CompletionChunk): readonly GenerationEvent[] {
    // Two answers that a proxy mixes up are nobody's answer.
    if (chunk.answerId !== null && this.#answerId !== null && chunk.answerId !== this.#answerId)
      throw strangeAnswer("an answer to this request alone");
    this.#answerId ??= chunk.answerId;
    if (chunk.kind === "choice") return this.#readChoice(chunk);
    this.#cachedTokenCount = chunk.cachedTokenCount ?? 0;
    return [];
  }

  /**
   * The end of the last choice, once the answer has ended.
   *
   * @throws ServiceError `unavailable` where a choice did not end
   */
  end(): readonly GenerationEvent[] {
    if (!this.isWhole) throw strangeAnswer("the end of a choice");
    const { prompt, outputs } = this.#request;
    const cachedTokenCount = Math.min(this.#cachedTokenCount, prompt.tokenIds.length);
    // Where its log-probabilities were wanted, the request for these computed it.
    if (cachedTokenCount === 0 || outputs.promptLogprobCount !== null) return this.#lastFinish;
    return [{ kind: "prompt-cached", cachedTokenCount }, ...this.#lastFinish];
  }

  #readChoice({ choice, tokens, finish }: ChoiceChunk): readonly GenerationEvent[] {
    const before = this.#tokenCounts.get(choice);
    if (before === undefined) throw strangeAnswer("a choice that was asked for and goes on");
    const last = tokens.at(-1);
    const isStopped = finish === "stop" && last !== undefined && this.#stopTokenIds.has(last.id);
    // Of an answer under a constraint the model's own end says that it is complete, and is no part of it.
    const isOwnEnd = finish === "stop" && !isStopped && this.#request.constraint !== null;
    const kept = (isOwnEnd ? tokens.slice(0, -1) : tokens).map((token) => this.#checked(token));
    const count = before + kept.length;
    if (count > this.#request.stopping.maxTokens) throw strangeAnswer("an end after the last token");
    const finished = finish === null ? null : finishOf(finish, isStopped ? (last?.id ?? null) : null);
    if (finished === null) this.#tokenCounts.set(choice, count);
    else this.#tokenCounts.delete(choice);
    const choices = this.#choicesOf(choice);
    const computed: readonly GenerationEvent[] =
      kept.length === 0 ? [] : choices.map((own) => ({ kind: "tokens", choice: own, tokens: kept }));
    if (finished === null) return computed;
    const finishes = choices.map((own) => ({ kind: "choice-finished", choice: own, ...finished }) as const);
    if (!this.isWhole) return [...computed, ...finishes];
    this.#lastFinish = finishes;
    return computed;
  }

  #checked(token: GeneratedToken): GeneratedToken {
    if (token.id >= this.#vocabularySize) throw strangeAnswer("a token of the model");
    if (token.alternatives.some(({ id }) => id >= this.#vocabularySize))
      throw strangeAnswer("alternatives of the model");
    if (this.#allowedTokenIds?.has(token.id) === false) throw nothingLeft();
    const { topLogprobCount } = this.#request.outputs;
    // vLLM adds the token itself where it is not among them; it is the least probable then.
    return { ...token, alternatives: token.alternatives.slice(0, topLogprobCount ?? 0) };
  }
}

function finishOf(finish: string, stopTokenId: number | null) {
  if (finish === "stop") return { reason: "stop", stopTokenId } as const;
  if (finish === "length") return { reason: "length", stopTokenId: null } as const;
  throw new ServiceError({
    code: "unavailable",
    message: "The server that computes this model ended the request; try again.",
    retryAfterSeconds: 2,
    cause: new Error(`vLLM ended a choice with ${finish}`),
  });
}

/** What vLLM's failure within a stream means: one that draws what its constraint forbids, since nothing else was left. */
export function failureOf(error: unknown, { constraint, sampling }: GenerationRequest): unknown {
  const isOwn = error instanceof ServiceError && error.cause instanceof VllmRefusal && error.cause.isInStream;
  return isOwn && constraint !== null && sampling.allowedTokenIds !== null ? nothingLeft(error) : error;
}

function nothingLeft(cause?: unknown): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message:
      "No token may come next: the request forbids all that its constraint and its other options leave.",
    cause,
  });
}
