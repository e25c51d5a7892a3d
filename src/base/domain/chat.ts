// One chat completion in the domain's words: what is asked, what comes back. How a wire spells either is not said here.
import type { Constraint, ConstraintRule } from "./constraint.ts";
import type { ChoiceRequest, FinishReason } from "./generation.ts";
import type { HeldPlace, PassedParameters, PromptPassing } from "./prompt-transfer.ts";
import type { CompletionKey, RecordingWish } from "./recordings/completion-key.ts";
import type { SamplingParameters } from "./sampling.ts";
import type { Fault } from "./service-error.ts";
import type { JsonObject } from "./text/json.ts";
import type { MessageRecord } from "./trajectory.ts";

/** What a chat template renders; messages, tools and documents in the API's own spelling. */
export interface Conversation {
  /** As they were sent: parts of content are not joined, null members are there. */
  readonly messages: readonly MessageRecord[];
  readonly tools: readonly JsonObject[] | null;
  readonly documents: readonly JsonObject[] | null;
  /** Further variables for the template; they hide the standard ones, but not the messages. */
  readonly templateArguments: JsonObject;
  /** Shown to the template, which says whether it means anything; `none` also turns thinking off. */
  readonly reasoningEffort: string | null;
  /** Ends the prompt with what opens the assistant's turn. */
  readonly addGenerationPrompt: boolean;
  /**
   * Cuts the prompt right after the final message's content, so that the model goes on writing it; excludes
   * `addGenerationPrompt`.
   */
  readonly continueFinalMessage: boolean;
}

/** How a conversation is rendered that asks for nothing else, in serving and in training. */
export const plainConversation: Omit<Conversation, "messages"> = {
  tools: null,
  documents: null,
  templateArguments: {},
  reasoningEffort: null,
  addGenerationPrompt: true,
  continueFinalMessage: false,
};

/** What may be said of every prompt. */
interface PromptOptions {
  /** Keeps the last so many tokens; -1 as many as fit. */
  readonly truncation: number | null;
  /** Puts the last message's text, or the prompt's, before the answer's. */
  readonly echo: boolean;
}

/** A conversation to be rendered by a chat template. */
export interface ConversationPrompt extends PromptOptions, Conversation {
  readonly kind: "conversation";
  /** A Jinja template instead of the model's own. */
  readonly template: string | null;
  /** Adds the tokenizer's special tokens to those of the template. */
  readonly addSpecialTokens: boolean;
}

/** A text that the model goes on writing as it stands. */
export interface TextPrompt extends PromptOptions {
  readonly kind: "text";
  readonly text: string;
  /** Adds the tokenizer's special tokens, such as a leading beginning-of-text token. */
  readonly addSpecialTokens: boolean;
}

/** The very tokens. */
export interface TokenPrompt extends PromptOptions {
  readonly kind: "tokens";
  /** Whole numbers of at least 0. */
  readonly tokenIds: readonly number[];
}

export type ChatPrompt = ConversationPrompt | TextPrompt | TokenPrompt;

/** As in {@link SamplingParameters}; null is the model's default, or a fresh seed. */
export type ChatSampling = {
  readonly [Parameter in Exclude<keyof SamplingParameters, "badWords">]: SamplingParameters[Parameter] | null;
} & {
  /** As texts; no one is empty. */
  readonly badWords: readonly string[] | null;
};

/** What an answer may do with the tools of its prompt: `auto` leaves it to the model, the last two ask for calls alone. */
export type ToolChoice =
  | { readonly kind: "none" }
  /** `allowed` names the tools that may be called, where not all may. */
  | { readonly kind: "auto" | "required"; readonly allowed?: readonly string[] }
  /** Calls of this tool, which the prompt has. */
  | { readonly kind: "named"; readonly name: string };

export interface ChatCalls {
  /** Undefined: the request did not say, so the model's kind decides. */
  readonly choice: ToolChoice | undefined;
  /** Whether an answer may hold more than one call. */
  readonly areParallel: boolean;
  /** Whether an answer that calls tools need not keep the constraint. */
  readonly areExempt: boolean;
  /** Tools that take a text, in their prompt functions with that one argument. */
  readonly texts: readonly TextTool[];
}

/** A tool that takes one text rather than arguments. */
export interface TextTool {
  readonly name: string;
  /** What the text must match; null for any. */
  readonly rule: ConstraintRule | null;
}

/** The argument of a function that stands for a tool which takes a text. */
export const textArgument = "input";

export interface ChatStopping {
  /** At least 1; Infinity fills the context, null too unless the model has a default of its own. */
  readonly maxTokens: number | null;
  readonly minTokens: number;
  /** Texts that end a choice; none is empty. */
  readonly stop: readonly string[];
  readonly stopTokenIds: readonly number[];
  /** The model's own end tokens do not end a choice. */
  readonly ignoreEndTokens: boolean;
  /** Shows what ended a choice in its text. */
  readonly includeStopText: boolean;
}

/** Log-probabilities of a reply. */
export interface LogprobRequest {
  /** 0 to 20 alternatives per token. */
  readonly topCount: number;
}

export interface ChatOutput {
  readonly choices: ChoiceRequest;
  /** Undefined: the request did not say, so the model's kind decides. Null: explicitly off. */
  readonly logprobs: LogprobRequest | null | undefined;
  /** How many alternatives each token of the prompt carries; null where none of it is wanted. */
  readonly promptLogprobCount: number | null;
  readonly returnTokenIds: boolean | undefined;
  readonly skipSpecialTokens: boolean;
  readonly includeReasoning: boolean;
}

export interface ChatIdentity {
  /** Without the `chatcmpl-` prefix. */
  readonly requestId: string;
  /** As asked for; null means the server's default model. */
  readonly model: string | null;
  /** Whom the client asks for, in its own words. */
  readonly user: string | null;
  /** Lower is earlier. */
  readonly priority: number;
  readonly cacheSalt: string | null;
}

/**
 * A validated request; every default is resolved, except those that depend on the model. What an engine cannot do chat
 * refuses; what chat cannot do comes here at its default.
 */
export interface ChatRequest {
  readonly identity: ChatIdentity;
  readonly prompt: ChatPrompt;
  readonly sampling: ChatSampling;
  readonly constraint: Constraint | null;
  readonly calls: ChatCalls;
  readonly stopping: ChatStopping;
  readonly output: ChatOutput;
  readonly recording: RecordingWish;
  /** Null where its prompt is computed and used here alone. */
  readonly passing: PromptPassing | null;
  /** Options that were asked for and that chat has not, where they were sent: refused together with what the engine lacks. */
  readonly unserved: readonly Fault[];
}

type FieldsOf<Group extends Exclude<keyof ChatRequest, "unserved" | "passing">> =
  `${Group}.${string & Exclude<KeysOf<ChatRequest[Group]>, "kind">}`;

/** Of a union the keys of every member. */
type KeysOf<Value> = Value extends unknown ? keyof Value : never;

/** A field of a request by its name, such as `sampling.minP`. */
export type ChatField =
  | FieldsOf<"identity">
  | FieldsOf<"prompt">
  | FieldsOf<"sampling">
  | "constraint"
  | FieldsOf<"calls">
  | FieldsOf<"stopping">
  | FieldsOf<"output">
  | FieldsOf<"recording">
  | "passing";

/**
 * A fault in a field, or below it. Texts name fields in backquotes (`` `sampling.minP` ``), so that a wire can put its own
 * names there.
 */
export function chatFault(
  field: ChatField,
  { message, type, below = [] }: Pick<Fault, "message" | "type"> & { readonly below?: readonly string[] },
): Fault {
  return { location: [...field.split("."), ...below], message, type };
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

/** A token with its place among all tokens; see `RankedToken`. */
export interface ChatRankedToken {
  readonly tokenId: number;
  /** The token's own text. */
  readonly text: string;
  readonly logprob: number;
  readonly rank: number;
}

/** A token of the prompt, judged after all before it. */
export interface ChatPromptLogprob extends ChatRankedToken {
  /** The true top k in order, which may hold the token itself. */
  readonly alternatives: readonly ChatRankedToken[];
}

export interface ChatHeader {
  /** The name asked for, or the default model's name. */
  readonly model: string;
  /** Names base, version and engine build. */
  readonly fingerprint: string;
  readonly createdAt: Date;
  readonly role: string;
  /** As many as were asked for; beam search may have found fewer. */
  readonly choiceCount: number;
  /** Put before each choice's text, in no delta of which it is; empty where nothing is. */
  readonly echo: string;
  readonly promptTokenIds: readonly number[];
  /** One for each token of the prompt, null for the first; null where the request wanted none. */
  readonly promptLogprobs: readonly (ChatPromptLogprob | null)[] | null;
  /** The prompt's tokens with what each adds to its text, where that is put before answers and they are judged; else null. */
  readonly echoedTokens: readonly Pick<ChatLogprob, "tokenId" | "text" | "bytes">[] | null;
  /** How answers spell tokens' log-probabilities; `off` shows none, though recorded answers have them in their deltas. */
  readonly logprobs: "off" | "text" | "token-id";
  /** Whether ids were asked for at the top (`return_token_ids`), and whether choices carry them too (trained models). */
  readonly tokenIds: { readonly top: boolean; readonly inChoices: boolean };
  /** Where another server finds the prompt, where it is held for one. */
  readonly heldAt:
    | (HeldPlace & { readonly tokenCount: number })
    | { readonly parameters: PassedParameters }
    | null;
  /** What the client should know of how its request was understood, in a sentence; null where there is nothing. */
  readonly notice: string | null;
}

/** What one step added to a tool call; a call's deltas are joined by its index. */
export interface ToolCallDelta {
  /** Of the call, in its choice. */
  readonly index: number;
  /** With the call's first delta. */
  readonly id?: string;
  readonly name?: string;
  /** A piece of the arguments' JSON text, or of the text that the tool takes. */
  readonly argumentsText: string;
  /** Of a call of a {@link TextTool}. */
  readonly isText?: true;
}

/** What one step added to a choice. */
export interface ChatDelta {
  readonly choice: number;
  readonly text: string;
  /** What the model thought, which is not part of its answer's text. */
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCallDelta[];
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly ChatLogprob[];
  /** Set on the last delta of the choice. */
  readonly finish: ChatFinish | null;
  /** So far, over all choices; `completionTokens` of this choice alone is `choiceTokens`. */
  readonly usage: ChatUsage;
  readonly choiceTokens: number;
}

/** An answer that has begun. Whoever has it reads its deltas to their end, or leaves it. */
export interface ChatCompletion<Step = readonly ChatDelta[]> {
  readonly header: ChatHeader;
  /** What came at once is one step; each choice ends with a delta that has its finish. To be read once. */
  readonly deltas: AsyncIterable<Step>;
  /** So far; the whole once the deltas have ended. */
  readonly usage: ChatUsage;
  /**
   * As what it is recorded, or is going to be; null where it is not. Once the deltas have ended it is on disk: null then where
   * it could not wait for that.
   */
  readonly recordedAs: CompletionKey | null;
  /** Ends it and frees what it holds, as leaving the loop over its deltas does; without effect once it has ended. */
  leave(): Promise<void>;
}

/** What came at once for one of several requests that are answered together. */
export interface RequestDeltas {
  /** Its index. */
  readonly request: number;
  readonly header: ChatHeader;
  readonly deltas: readonly ChatDelta[];
}

export interface ChatFinish {
  /** `tool_calls` where the choice asks for tools to be called. */
  readonly reason: FinishReason | "tool_calls";
  /** The stop token that ended it, where the request or the generation config named it; null for the end-of-text token. */
  readonly stopReason: number | null;
  /** The stop string that ended it. */
  readonly matchedStop: string | null;
}

/** A prompt whose tokens are wanted, and no answer. */
export interface TokenizeRequest {
  /** As asked for; null means the server's default model. */
  readonly model: string | null;
  readonly prompt: ConversationPrompt | TextPrompt;
  /** Whether each token is wanted as the tokenizer spells it, too. */
  readonly wantsTexts: boolean;
}

/** What a prompt is as tokens. */
export interface Tokenized {
  readonly tokenIds: readonly number[];
  /** Each token as the tokenizer spells it; null where they were not wanted. */
  readonly texts: readonly string[] | null;
  /** Of the model: tokens that prompt and answer may have together. */
  readonly contextLength: number;
}

/** Tokens whose text is wanted. */
export interface DetokenizeRequest {
  readonly model: string | null;
  /** Whole numbers of at least 0. */
  readonly tokenIds: readonly number[];
}
