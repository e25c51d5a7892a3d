// The pieces of vLLM's answer as events of a generation. What vLLM does otherwise than the contract says is put right here
// where that is exact, and else ends the request: choices of a greedy request are drawn once, and a token that the request
// forbids says that none was left to draw.
import type { GeneratedToken, GenerationEvent, GenerationRequest } from "../../domain/generation.ts";
import { choiceCountOf } from "../../domain/generation.ts";
import { ServiceError } from "../../domain/service-error.ts";
import type { CompletionChunk } from "./read-completion.ts";
import { strangeAnswer, VllmRefusal } from "./vllm-errors.ts";

export class AnswerReader {
  readonly #request: GenerationRequest;
  readonly #vocabularySize: number;
  readonly #stopTokenIds: ReadonlySet<number>;
  readonly #allowedTokenIds: ReadonlySet<number> | null;
  /** How many tokens each choice of the answer has; it has ended where it is absent. */
  readonly #tokenCounts = new Map<number, number>();
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

  /**
   * The events of a piece, in order.
   *
   * @throws ServiceError `unsupported` where no token was left to draw; `unavailable` for what cannot be an answer
   */
  read({ choice, tokens, finish }: CompletionChunk): readonly GenerationEvent[] {
    const before = this.#tokenCounts.get(choice);
    if (before === undefined) throw strangeAnswer("a choice that was asked for and goes on");
    const last = tokens.at(-1);
    const isStopped = finish === "stop" && last !== undefined && this.#stopTokenIds.has(last.id);
    // Of an answer under a constraint the model's own end says that it is complete, and is no part of it.
    const isOwnEnd = finish === "stop" && !isStopped && this.#request.constraint !== null;
    const kept = (isOwnEnd ? tokens.slice(0, -1) : tokens).map((token) => this.#checked(token));
    const count = before + kept.length;
    if (count > this.#request.stopping.maxTokens) throw strangeAnswer("an end after the last token");
    if (finish === null) this.#tokenCounts.set(choice, count);
    else this.#tokenCounts.delete(choice);
    const finished = finish === null ? null : finishOf(finish, isStopped ? (last?.id ?? null) : null);
    return this.#choicesOf(choice).flatMap((own) => [
      ...(kept.length > 0 ? [{ kind: "tokens", choice: own, tokens: kept } as const] : []),
      ...(finished === null ? [] : [{ kind: "choice-finished", choice: own, ...finished } as const]),
    ]);
  }

  /** @throws ServiceError `unavailable` where a choice did not end */
  requireEnd(): void {
    if (this.#tokenCounts.size > 0) throw strangeAnswer("the end of a choice");
  }

  #checked(token: GeneratedToken): GeneratedToken {
    if (token.id < 0 || token.id >= this.#vocabularySize) throw strangeAnswer("a token of the model");
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
