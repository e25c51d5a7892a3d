// Recorded chat completions of trained models: the request, the tokens of the answer, and the version that answered.
// Feedback refers to them, and training uses both together.
import type { ChatFinish, ChatPrompt, ChatUsage, TokenPrompt } from "../chat.ts";
import type { SamplingParameters } from "../sampling.ts";
import type { CompletionKey } from "./completion-key.ts";

/** Summary of a recorded completion for lists; always small. */
export interface CompletionOutline extends CompletionKey {
  readonly modelId: string;
  /** Version that answered. */
  readonly step: number;
  /** Name of the model as requested. */
  readonly model: string;
  /** Fingerprint of base model, version and engine build. */
  readonly fingerprint: string;
  /** Owner of the key that sent the request. */
  readonly owner: string;
  readonly startedAt: Date;
  /**
   * Time of the last token. Lists are in storage order, which may differ slightly, because a completion is stored
   * shortly after its end.
   */
  readonly endedAt: Date;
  readonly usage: ChatUsage;
  /** Hash that is the same for prompts with the same tokens: hex SHA-256 of the ids as little-endian 32-bit integers. */
  readonly promptHash: string;
  /** Finish reason of each choice. */
  readonly finishReasons: readonly ChatFinish["reason"][];
  readonly hasLogprobs: boolean;
  /** Beginning of the last user message, or of the prompt's text; empty if there is none. */
  readonly promptText: string;
  /** Beginning of the first choice's text. */
  readonly answerText: string;
  /** Metadata that the request set. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface RecordedCompletion extends CompletionOutline {
  /** Content; null if it exceeds the size limit of recordings. */
  readonly content: CompletionContent | null;
}

export interface CompletionContent {
  readonly prompt: RecordedPrompt;
  readonly promptTokenIds: readonly number[];
  readonly sampling: RecordedSampling;
  /** Choices of the answer; at least one. */
  readonly choices: readonly RecordedChoice[];
}

/** The prompt as requested. If the prompt was sent as tokens, its token ids are only in `promptTokenIds`. */
export type RecordedPrompt = Exclude<ChatPrompt, TokenPrompt> | Omit<TokenPrompt, "tokenIds">;

/** Sampling parameters with all defaults resolved, and the stop conditions. */
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
  /** True for beam search instead of sampling. */
  readonly isSearched: boolean;
  /**
   * True if something besides sampling parameters restricted or changed the tokens: a constraint, a logit bias, bad
   * words, or a logits processor.
   */
  readonly isHeld: boolean;
}

export interface RecordedChoice {
  readonly text: string;
  /** Reasoning; empty if the model did not reason, or the request hid its reasoning. */
  readonly reasoning: string;
  readonly toolCalls: readonly RecordedCall[];
  readonly finish: ChatFinish;
  readonly tokenIds: readonly number[];
  /** Log-probabilities, one entry per token; null if not requested. */
  readonly logprobs: readonly TokenRecord[] | null;
}

export interface TokenRecord {
  /** Natural logarithm of the raw probability, as in `GeneratedToken`. */
  readonly logprob: number;
  /** Bytes that the token adds to the answer's text, in UTF-8. */
  readonly bytes: readonly number[];
}

export interface RecordedCall {
  readonly id: string;
  readonly name: string;
  /** JSON of the arguments, or the text for a tool that takes a text. */
  readonly argumentsText: string;
  /** True for a tool that takes a text. */
  readonly isText: boolean;
}
