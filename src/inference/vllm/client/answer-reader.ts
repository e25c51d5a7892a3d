// Converts the pieces of vLLM's answer into events of a generation. Where vLLM deviates from the engine contract,
// corrects the deviation if that is possible exactly, and otherwise fails the request.
// * A greedy request is sampled once, and all of its choices get copies of that answer.
// * If vLLM samples a token that the request forbids, no allowed token was left, so the request fails.
// * The end of the last choice is emitted only when the whole answer ends, because only then does vLLM report the
// number of cached prompt tokens.
import type { GeneratedToken, GenerationEvent, GenerationRequest } from "../../../base/domain/generation.ts";
import { choiceCountOf } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ChoiceChunk, CompletionChunk } from "./read-completion.ts";
import { malformedAnswer, VllmRefusal } from "./vllm-errors.ts";

export class AnswerReader {
  readonly #request: GenerationRequest;
  readonly #vocabularySize: number;
  readonly #stopTokenIds: ReadonlySet<number>;
  readonly #allowedTokenIds: ReadonlySet<number> | null;
  /** Number of tokens so far of each choice that has not ended. */
  readonly #tokenCounts = new Map<number, number>();
  /** Events that end the answer's last choice. They are emitted once the whole answer ends. */
  #lastFinish: readonly GenerationEvent[] = [];
  #cachedTokenCount = 0;
  /** Id of the answer, from its first piece; null before that piece. */
  #answerId: string | null = null;
  /** Returns the numbers of the request's choices that get copies of a given choice in vLLM's answer. */
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

  /** True if all choices of the answer have ended. */
  get isWhole(): boolean {
    return this.#tokenCounts.size === 0;
  }

  /**
   * Returns the events of a piece in order. Withholds the end of the last choice until {@link end}.
   *
   * @throws ServiceError `unsupported` if no token was left to sample; `unavailable` for an impossible answer
   */
  read(chunk: CompletionChunk): readonly GenerationEvent[] {
    // A proxy may have mixed in a piece of another answer. Such a piece has a different id.
    if (chunk.answerId !== null && this.#answerId !== null && chunk.answerId !== this.#answerId)
      throw malformedAnswer("an answer to only this request");
    this.#answerId ??= chunk.answerId;
    if (chunk.kind === "choice") return this.#readChoice(chunk);
    this.#cachedTokenCount = chunk.cachedTokenCount ?? 0;
    return [];
  }

  /**
   * Returns the events that end the last choice. Must be called once the answer has ended.
   *
   * @throws ServiceError `unavailable` if a choice did not end
   */
  end(): readonly GenerationEvent[] {
    if (!this.isWhole) throw malformedAnswer("the end of a choice");
    const { prompt, outputs } = this.#request;
    const cachedTokenCount = Math.min(this.#cachedTokenCount, prompt.tokenIds.length);
    // If the prompt's log-probabilities were requested, a separate request computed them and thereby filled vLLM's
    // cache. The number of cached tokens would be misleading, so it is not reported.
    if (cachedTokenCount === 0 || outputs.promptLogprobCount !== null) return this.#lastFinish;
    return [{ kind: "prompt-cached", cachedTokenCount }, ...this.#lastFinish];
  }

  #readChoice({ choice, tokens, finish }: ChoiceChunk): readonly GenerationEvent[] {
    const before = this.#tokenCounts.get(choice);
    if (before === undefined) throw malformedAnswer("a requested, unfinished choice");
    const last = tokens.at(-1);
    const isStopped = finish === "stop" && last !== undefined && this.#stopTokenIds.has(last.id);
    // Under a constraint, the model's end token shows that the answer is complete. The token itself does not belong to
    // the answer.
    const isOwnEnd = finish === "stop" && !isStopped && this.#request.constraint !== null;
    const kept = (isOwnEnd ? tokens.slice(0, -1) : tokens).map((token) => this.#checked(token));
    const count = before + kept.length;
    if (count > this.#request.stopping.maxTokens) throw malformedAnswer("an end after the last token");
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
    if (token.id >= this.#vocabularySize) throw malformedAnswer("a token of the model");
    if (token.alternatives.some(({ id }) => id >= this.#vocabularySize))
      throw malformedAnswer("alternatives of the model");
    if (this.#allowedTokenIds?.has(token.id) === false) throw nothingLeft();
    const { topLogprobCount } = this.#request.outputs;
    // If the sampled token is not among the alternatives, vLLM appends it to them; this removes it again.
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

/**
 * Translates an error within a stream. If the request has a constraint and a list of allowed tokens, the error means
 * that vLLM sampled a token that the constraint forbids, because no allowed token was left.
 */
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
