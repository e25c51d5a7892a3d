// Computes the log-probabilities of answers under a constraint. vLLM computes them after the constraint has masked
// tokens, so they differ from the model's, and training on them would be wrong. A second request, whose prompt ends
// with the answer, therefore computes the model's log-probabilities; each choice is held back until it has ended.
import { assert } from "../../../base/domain/assert.ts";
import type {
  GeneratedToken,
  GenerationEvent,
  GenerationRequest,
  PromptLogprob,
} from "../../../base/domain/generation.ts";
import { malformedAnswer } from "./vllm-errors.ts";

/** True if the request needs log-probabilities and has a constraint, under which vLLM's differ from the model's. */
export function masksLogprobs({ constraint, outputs }: GenerationRequest): boolean {
  return constraint !== null && outputs.topLogprobCount !== null;
}

/** Returns the number of answer tokens that a second request can score. vLLM requires room for one more token. */
export function scoredTokensMax(promptLength: number, contextLength: number): number {
  return contextLength - 1 - promptLength;
}

/** A choice that has ended, but whose tokens have no log-probabilities yet. */
interface EndedChoice {
  readonly finish: Extract<GenerationEvent, { readonly kind: "choice-finished" }>;
  readonly tokens: readonly GeneratedToken[];
}

export class ScoredAnswer {
  /** The first request to vLLM: the original one without log-probabilities. */
  readonly unscored: GenerationRequest;
  readonly #request: GenerationRequest;
  readonly #tokens = new Map<number, readonly GeneratedToken[]>();

  constructor(request: GenerationRequest, { contextLength }: { readonly contextLength: number }) {
    const { prompt, stopping, outputs } = request;
    const maxTokens = Math.min(stopping.maxTokens, scoredTokensMax(prompt.tokenIds.length, contextLength));
    assert(maxTokens >= 1, "a prompt leaves room for an answer that can be scored");
    this.#request = request;
    this.unscored = {
      ...request,
      stopping: { ...stopping, maxTokens },
      outputs: { ...outputs, topLogprobCount: null },
    };
  }

  /** Collects the tokens of running choices. Returns the choices that have ended. */
  take(events: readonly GenerationEvent[]): readonly EndedChoice[] {
    const ended: EndedChoice[] = [];
    for (const event of events) {
      if (event.kind === "tokens")
        this.#tokens.set(event.choice, [...(this.#tokens.get(event.choice) ?? []), ...event.tokens]);
      if (event.kind !== "choice-finished") continue;
      ended.push({ finish: event, tokens: this.#tokens.get(event.choice) ?? [] });
      this.#tokens.delete(event.choice);
    }
    return ended;
  }

  /**
   * Returns the second request, for the log-probabilities of a choice. Its prompt is the original prompt followed by
   * the choice's tokens.
   */
  asPrompt({ tokens }: EndedChoice): GenerationRequest {
    const { prompt, outputs } = this.#request;
    return {
      ...this.#request,
      prompt: { ...prompt, tokenIds: [...prompt.tokenIds, ...tokens.map(({ id }) => id)] },
      outputs: { topLogprobCount: null, promptLogprobCount: outputs.topLogprobCount },
    };
  }

  /** Returns the events of a choice, whose tokens get the model's log-probabilities. */
  withScores(
    { finish, tokens }: EndedChoice,
    scores: readonly (PromptLogprob | null)[],
  ): readonly GenerationEvent[] {
    const own = scores.slice(this.#request.prompt.tokenIds.length);
    if (own.length !== tokens.length) throw malformedAnswer("the log-probabilities of an answer");
    const scored = tokens.map(({ id }, index) => {
      const score = own[index];
      if (score?.id !== id) throw malformedAnswer("the log-probability of a token");
      const alternatives = score.alternatives.map((other) => ({ id: other.id, logprob: other.logprob }));
      return { id, logprob: score.logprob, alternatives };
    });
    const { choice } = finish;
    return [...(scored.length > 0 ? [{ kind: "tokens", choice, tokens: scored } as const] : []), finish];
  }
}
