// Chat completions of trained models as they are recorded: what was asked, with which tokens it was answered, by which
// version of which model. Feedback names them, and training learns from the two.
import type { ChatFinish, ChatPrompt, ChatUsage, TokenPrompt } from "../chat.ts";
import type { SamplingParameters } from "../sampling.ts";
import type { CompletionKey } from "./completion-key.ts";

/** What lists say of a recorded completion; small, whatever its size. */
export interface CompletionOutline extends CompletionKey {
  readonly modelId: string;
  /** The version that answered. */
  readonly step: number;
  /** The name that was asked for. */
  readonly model: string;
  /** Names base, version and engine build. */
  readonly fingerprint: string;
  /** The owner of the key that asked. */
  readonly owner: string;
  readonly startedAt: Date;
  /** When the last token was there; lists go by when they were stored, which is right behind. */
  readonly endedAt: Date;
  readonly usage: ChatUsage;
  /** Equal for prompts of the same tokens: hex SHA-256 of these, as 32-bit integers, the low byte first. */
  readonly promptHash: string;
  /** Why each choice ended. */
  readonly finishReasons: readonly ChatFinish["reason"][];
  readonly hasLogprobs: boolean;
  /** How the last message of a user begins, or the prompt's text; empty where there is none. */
  readonly promptText: string;
  /** How the first choice begins. */
  readonly answerText: string;
  /** What the request said of itself. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface RecordedCompletion extends CompletionOutline {
  /** Null of one that is larger than recordings may be. */
  readonly content: CompletionContent | null;
}

export interface CompletionContent {
  readonly prompt: RecordedPrompt;
  readonly promptTokenIds: readonly number[];
  readonly sampling: RecordedSampling;
  /** At least one. */
  readonly choices: readonly RecordedChoice[];
}

/** As it was asked; of one that came as tokens, these are the prompt's tokens. */
export type RecordedPrompt = Exclude<ChatPrompt, TokenPrompt> | Omit<TokenPrompt, "tokenIds">;

/** How the choices were drawn, every default resolved, and what ended them. */
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
  /** Whether a search found them, rather than draws. */
  readonly isSearched: boolean;
  /** Whether something else held the tokens that might come: a constraint, a bias, forbidden words, a processor. */
  readonly isHeld: boolean;
}

export interface RecordedChoice {
  readonly text: string;
  /** Empty where the model did not think, or the request did not want to see it. */
  readonly reasoning: string;
  readonly toolCalls: readonly RecordedCall[];
  readonly finish: ChatFinish;
  readonly tokenIds: readonly number[];
  /** One of each token; null where the request wanted none. */
  readonly logprobs: readonly TokenRecord[] | null;
}

export interface TokenRecord {
  /** Natural logarithm of the raw probability, as in `GeneratedToken`. */
  readonly logprob: number;
  /** What the token adds to the answer's text, in UTF-8. */
  readonly bytes: readonly number[];
}

export interface RecordedCall {
  readonly id: string;
  readonly name: string;
  /** The arguments' JSON text, or the text that the tool takes. */
  readonly argumentsText: string;
  /** Of a call of a tool that takes a text. */
  readonly isText: boolean;
}
