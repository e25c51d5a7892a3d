// Recorded chat completions of trained models: the request, the tokens of the answer, and the version that answered.
// Feedback refers to them, and training uses completions and feedback together.
import type { ChatFinish, ChatPrompt, ChatUsage, TokenPrompt } from "../chat.ts";
import type { CallAttempt } from "../rollouts/call-attempt.ts";
import type { SamplingParameters } from "../sampling.ts";
import type { CompletionKey } from "./completion-key.ts";

/** Summary of a recorded completion for lists. It is small, even if the completion is large. */
export interface CompletionOutline extends CompletionKey {
  readonly modelId: string;
  /** Step of the version that answered. */
  readonly step: number;
  /** Name of the model in the request. */
  readonly model: string;
  /** Fingerprint of the base model, its version and the build of the engine. */
  readonly fingerprint: string;
  /** Owner of the key that sent the request. */
  readonly owner: string;
  readonly startedAt: Date;
  /**
   * Time of the last token. A completion is stored shortly after it ends, so lists in storage order are only roughly
   * sorted by this time.
   */
  readonly endedAt: Date;
  /** Time in milliseconds from the beginning of the request to the first token; absent in older recordings. */
  readonly firstTokenMs?: number | null;
  readonly usage: ChatUsage;
  /**
   * Hash that is the same for prompts with the same tokens: SHA-256 of the ids as little-endian 32-bit integers, in
   * hexadecimal form.
   */
  readonly promptHash: string;
  /** Reason for the end of each choice. */
  readonly finishReasons: readonly ChatFinish["reason"][];
  readonly hasLogprobs: boolean;
  /** Beginning of the last user message, or of a text prompt; empty if there is neither. */
  readonly promptText: string;
  /** Beginning of the text of the first choice. */
  readonly answerText: string;
  /** Rollout to which the call belongs; null or absent if it belongs to none. */
  readonly rolloutId?: string | null;
  /** Attempt at a call of a rollout; absent if the client does not identify attempts. */
  readonly attempt?: CallAttempt;
  /** True if the client did not receive the whole answer, because its connection broke or a later part failed. */
  readonly isUndelivered?: boolean;
  /** Metadata from the request. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface RecordedCompletion extends CompletionOutline {
  /** Prompt and answer; null if they exceed the size limit of recordings. */
  readonly content: CompletionContent | null;
}

export interface CompletionContent {
  readonly prompt: RecordedPrompt;
  readonly promptTokenIds: readonly number[];
  readonly sampling: RecordedSampling;
  /** Choices of the answer; at least one. */
  readonly choices: readonly RecordedChoice[];
}

/** The prompt in the form that the request had. If the request had token ids, they are only in `promptTokenIds`. */
export type RecordedPrompt = Exclude<ChatPrompt, TokenPrompt> | Omit<TokenPrompt, "tokenIds">;

/** Sampling parameters with all defaults set, and the conditions that end an answer. */
export interface RecordedSampling extends Pick<
  SamplingParameters,
  | "temperature"
  | "topP"
  | "topK"
  | "minP"
  | "topNSigma"
  | "repetitionPenalty"
  | "frequencyPenalty"
  | "presencePenalty"
  | "seed"
> {
  readonly maxTokens: number;
  readonly minTokens: number;
  readonly stop: readonly string[];
  /** True if the answer comes from a beam search instead of sampling. */
  readonly isSearched: boolean;
  /**
   * True if anything besides the sampling parameters restricted or changed the tokens: a constraint, a logit bias, bad
   * words, or a logits processor.
   */
  readonly isHeld: boolean;
}

export interface RecordedChoice {
  readonly text: string;
  /** Thoughts of the model; empty if it had none, or the request hid them. */
  readonly reasoning: string;
  readonly toolCalls: readonly RecordedCall[];
  readonly finish: ChatFinish;
  readonly tokenIds: readonly number[];
  /** Log-probabilities, with one entry per token; null if the request did not ask for them. */
  readonly logprobs: readonly TokenRecord[] | null;
}

export interface TokenRecord {
  /** Natural logarithm of the token's raw probability, as in `GeneratedToken`. */
  readonly logprob: number;
  /** Bytes that the token adds to the answer's text, in UTF-8. */
  readonly bytes: readonly number[];
}

export interface RecordedCall {
  readonly id: string;
  readonly name: string;
  /** Arguments of the call as JSON, or the text for a tool that takes a text. */
  readonly argumentsText: string;
  /** True for a tool that takes a text. */
  readonly isText: boolean;
}
