// What turning conversations into tokens needs to know of a model: its words, and how it is asked. A contract alone; a
// model folder's is made in training/.
import type { Conversation } from "../../base/domain/chat.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { TokenLookup } from "./recorded-choice.ts";

/** What a request may say of its prompt beside messages and tools; what is absent is as serving has it unasked. */
export type PromptArguments = Partial<
  Pick<
    Conversation,
    "documents" | "templateArguments" | "reasoningEffort" | "addGenerationPrompt" | "continueFinalMessage"
  > & {
    readonly addSpecialTokens: boolean;
    /** A field of the request, in its own spelling, without which its prompt cannot be rendered again. */
    readonly lost: string;
  }
>;

export interface ConversationTokenizer {
  /** Ids are in [0, vocabularySize). */
  readonly vocabularySize: number;
  /** The prompt that asks for the next assistant turn, as serving renders it; throws what the template raises. */
  renderPrompt(
    messages: readonly JsonObject[],
    tools: readonly JsonObject[] | null,
    promptArguments: Omit<PromptArguments, "lost">,
  ): readonly number[];
  /** Plain text, nothing added. */
  encode(text: string): readonly number[];
  readonly idOfToken: TokenLookup;
}
