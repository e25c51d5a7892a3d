// One chat completion in the domain's words: what is asked, what comes back. The wire's spelling is http's affair.
import type { FinishReason } from "./generation.ts";
import type { JsonObject, MessageRecord } from "./trajectory.ts";

/** Log-probabilities of a reply. */
export interface LogprobRequest {
  /** 0 to 20 alternatives per token. */
  readonly topCount: number;
}

/** A validated request; every default is resolved, except those that depend on the model. */
export interface ChatRequest {
  /** In the API's own spelling, as the renderer reads them; parts of content are not joined. */
  readonly messages: readonly MessageRecord[];
  /** As asked for; null means the server's default model. */
  readonly model: string | null;
  /** Without the `chatcmpl-` prefix. */
  readonly requestId: string;
  readonly choiceCount: number;
  /** Null fills the context. */
  readonly maxTokens: number | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly seed: number | null;
  readonly stop: readonly string[];
  /** Undefined: the request did not say, so the model's kind decides. Null: explicitly off. */
  readonly logprobs: LogprobRequest | null | undefined;
  readonly returnTokenIds: boolean | undefined;
  readonly addGenerationPrompt: boolean;
  readonly continueFinalMessage: boolean;
  /** Shown to the template. */
  readonly tools: readonly JsonObject[] | null;
}

export interface ChatUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
}

export interface ChatLogprob {
  readonly tokenId: number;
  /** The token's own text; empty while a character is incomplete, whole on the token that completes it. */
  readonly text: string;
  readonly bytes: readonly number[];
  readonly logprob: number;
  readonly alternatives: readonly Omit<ChatLogprob, "alternatives">[];
}

export interface ChatHeader {
  /** The name asked for, or the default model's name. */
  readonly model: string;
  /** Names base, version and engine build. */
  readonly fingerprint: string;
  readonly createdAt: Date;
  readonly role: string;
  readonly promptTokenIds: readonly number[];
  /** Whether tokens' log-probabilities are in the deltas, and how they are spelled. */
  readonly logprobs: "off" | "text" | "token-id";
  /** Whether ids were asked for at the top (`return_token_ids`), and whether choices carry them too (trained models). */
  readonly tokenIds: { readonly top: boolean; readonly inChoices: boolean };
}

/** What a completion tells, in order: one header, deltas, one finish per choice, one usage. */
export type ChatEvent =
  | { readonly kind: "header"; readonly header: ChatHeader }
  | {
      readonly kind: "delta";
      readonly choice: number;
      readonly text: string;
      readonly tokenIds: readonly number[];
      readonly logprobs: readonly ChatLogprob[];
      /** Set on the last delta of the choice. */
      readonly finish: ChatFinish | null;
      /** So far, over all choices; `completionTokens` of this choice alone is `choiceTokens`. */
      readonly usage: ChatUsage;
      readonly choiceTokens: number;
    }
  | { readonly kind: "usage"; readonly usage: ChatUsage };

export interface ChatFinish {
  readonly reason: FinishReason;
  /** The stop token that ended it, where the request or the generation config named it; null for the end-of-text token. */
  readonly stopReason: number | null;
  /** The stop string that ended it. */
  readonly matchedStop: string | null;
}
