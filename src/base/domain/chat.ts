// A chat completion in the domain's terms: request and response, independent of any wire format.
import type { Constraint, ConstraintRule } from "./constraint.ts";
import type { ChoiceRequest, FinishReason } from "./generation.ts";
import type { HeldPlace, PassedParameters, PromptPassing } from "./prompt-transfer.ts";
import type { CompletionKey, RecordingWish } from "./recordings/completion-key.ts";
import type { SamplingParameters } from "./sampling.ts";
import type { Fault } from "./service-error.ts";
import type { JsonObject } from "./text/json.ts";
import type { MessageRecord } from "./trajectory.ts";

/** Input of a chat template; messages, tools and documents in the API's spelling. */
export interface Conversation {
  /** Messages as sent: parts of content are not joined, and null members are kept. */
  readonly messages: readonly MessageRecord[];
  readonly tools: readonly JsonObject[] | null;
  readonly documents: readonly JsonObject[] | null;
  /** Extra variables for the template. They override the standard variables, but not the messages. */
  readonly templateArguments: JsonObject;
  /** Passed to the template, which may ignore it; `none` also disables thinking. */
  readonly reasoningEffort: string | null;
  /** Ends the prompt with the opening of the assistant's turn. */
  readonly addGenerationPrompt: boolean;
  /**
   * Ends the prompt right after the final message's content, so that the model continues it; excludes
   * `addGenerationPrompt`.
   */
  readonly continueFinalMessage: boolean;
}

/** Default rendering of a conversation, in serving and in training. */
export const plainConversation: Omit<Conversation, "messages"> = {
  tools: null,
  documents: null,
  templateArguments: {},
  reasoningEffort: null,
  addGenerationPrompt: true,
  continueFinalMessage: false,
};

/** Options of every kind of prompt. */
interface PromptOptions {
  /** Keeps the last tokens, up to this number; -1 keeps as many as fit. */
  readonly truncation: number | null;
  /** Puts the text of the last message, or of the prompt, before the answer's text. */
  readonly echo: boolean;
}

/** A conversation to render with a chat template. */
export interface ConversationPrompt extends PromptOptions, Conversation {
  readonly kind: "conversation";
  /** Jinja template that replaces the model's own. */
  readonly template: string | null;
  /** Adds the tokenizer's special tokens to those of the template. */
  readonly addSpecialTokens: boolean;
}

/** A text for the model to continue. */
export interface TextPrompt extends PromptOptions {
  readonly kind: "text";
  readonly text: string;
  /** Adds the tokenizer's special tokens, such as a leading beginning-of-text token. */
  readonly addSpecialTokens: boolean;
}

/** A prompt as token ids. */
export interface TokenPrompt extends PromptOptions {
  readonly kind: "tokens";
  /** Integers of at least 0. */
  readonly tokenIds: readonly number[];
}

export type ChatPrompt = ConversationPrompt | TextPrompt | TokenPrompt;

/** As in {@link SamplingParameters}; null is the model's default, or a fresh seed. */
export type ChatSampling = {
  readonly [Parameter in Exclude<keyof SamplingParameters, "badWords">]: SamplingParameters[Parameter] | null;
} & {
  /** Texts, none of them empty. */
  readonly badWords: readonly string[] | null;
};

/** Tool use of an answer: `auto` lets the model decide; the last two require a call. */
export type ToolChoice =
  | { readonly kind: "none" }
  /** `allowed` names the tools that may be called; absent if all may. */
  | { readonly kind: "auto" | "required"; readonly allowed?: readonly string[] }
  /** Requires calls of this tool of the prompt. */
  | { readonly kind: "named"; readonly name: string };

export interface ChatCalls {
  /** Undefined if the request does not set it; the default then depends on the model. */
  readonly choice: ToolChoice | undefined;
  /** True if an answer may hold several calls. */
  readonly areParallel: boolean;
  /** True if an answer that calls tools is exempt from the constraint. */
  readonly areExempt: boolean;
  /** Tools that take a text; the prompt shows them as functions with that one argument. */
  readonly texts: readonly TextTool[];
}

/** A tool that takes one text instead of arguments. */
export interface TextTool {
  readonly name: string;
  /** Constraint on the text; null if unconstrained. */
  readonly rule: ConstraintRule | null;
}

/** Argument of the function that represents a tool with a text. */
export const textArgument = "input";

export interface ChatStopping {
  /** At least 1; Infinity fills the context. Null is the model's default, or Infinity if it has none. */
  readonly maxTokens: number | null;
  readonly minTokens: number;
  /** Texts that end a choice; none is empty. */
  readonly stop: readonly string[];
  readonly stopTokenIds: readonly number[];
  /** True if the model's own end tokens do not end a choice. */
  readonly ignoreEndTokens: boolean;
  /** True if a choice's text includes the text or token that ended it. */
  readonly includeStopText: boolean;
}

/** Requested log-probabilities of a reply. */
export interface LogprobRequest {
  /** Alternatives per token, 0 to 20. */
  readonly topCount: number;
}

export interface ChatOutput {
  readonly choices: ChoiceRequest;
  /** Undefined if the request does not set it; the default then depends on the model. Null if explicitly off. */
  readonly logprobs: LogprobRequest | null | undefined;
  /** Alternatives for each token of the prompt; null if log-probabilities of the prompt are not requested. */
  readonly promptLogprobCount: number | null;
  readonly returnTokenIds: boolean | undefined;
  readonly skipSpecialTokens: boolean;
  readonly includeReasoning: boolean;
}

export interface ChatIdentity {
  /** Without the `chatcmpl-` prefix. */
  readonly requestId: string;
  /** Requested name; null for the server's default model. */
  readonly model: string | null;
  /** User id given by the client. */
  readonly user: string | null;
  /** Lower runs earlier. */
  readonly priority: number;
  readonly cacheSalt: string | null;
}

/**
 * A validated request. Every default is resolved, except those that depend on the model. Chat refuses what an engine
 * lacks; features that chat lacks have their default here.
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
  /** Passing of the prompt between servers; null if it is computed and used here. */
  readonly passing: PromptPassing | null;
  /** Requested options that chat lacks, refused together with those that the engine lacks. */
  readonly unserved: readonly Fault[];
}

type FieldsOf<Group extends Exclude<keyof ChatRequest, "unserved" | "passing">> =
  `${Group}.${string & Exclude<KeysOf<ChatRequest[Group]>, "kind">}`;

/** Keys of every member of a union. */
type KeysOf<Value> = Value extends unknown ? keyof Value : never;

/** A field of a request by its path, such as `sampling.minP`. */
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
 * Returns a fault at or below a field. Texts name fields in backquotes (`` `sampling.minP` ``), so that a wire format
 * can substitute its own names.
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
  /** Text of the token; empty while a character is incomplete, and whole on the token that completes it. */
  readonly text: string;
  readonly bytes: readonly number[];
  readonly logprob: number;
  readonly alternatives: readonly Omit<ChatLogprob, "alternatives">[];
}

/** A token with its rank among all tokens; see `RankedToken`. */
export interface ChatRankedToken {
  readonly tokenId: number;
  /** Text of the token. */
  readonly text: string;
  readonly logprob: number;
  readonly rank: number;
}

/** A token of the prompt with its log-probability, given all tokens before it. */
export interface ChatPromptLogprob extends ChatRankedToken {
  /** The true top k in order, which may include the token itself. */
  readonly alternatives: readonly ChatRankedToken[];
}

export interface ChatHeader {
  /** Requested name, or the default model's. */
  readonly model: string;
  /** Identifies base, version and engine build. */
  readonly fingerprint: string;
  readonly createdAt: Date;
  readonly role: string;
  /** Number of requested choices; beam search may return fewer. */
  readonly choiceCount: number;
  /** Text before each choice's text, in none of its deltas; empty if `echo` is off. */
  readonly echo: string;
  readonly promptTokenIds: readonly number[];
  /** One entry per token of the prompt, null for the first; null if not requested. */
  readonly promptLogprobs: readonly (ChatPromptLogprob | null)[] | null;
  /**
   * Tokens of the echoed prompt with the text that each adds, if their log-probabilities are requested; otherwise
   * null.
   */
  readonly echoedTokens: readonly Pick<ChatLogprob, "tokenId" | "text" | "bytes">[] | null;
  /** Notation of tokens in log-probabilities. `off` shows none, although recorded answers have them in their deltas. */
  readonly logprobs: "off" | "text" | "token-id";
  /** `top`: ids were requested (`return_token_ids`). `inChoices`: choices carry them too, for trained models. */
  readonly tokenIds: { readonly top: boolean; readonly inChoices: boolean };
  /** Address at which another server can fetch the prompt, if it is held for one. */
  readonly heldAt:
    | (HeldPlace & { readonly tokenCount: number })
    | { readonly parameters: PassedParameters }
    | null;
  /** One sentence about how the request was understood; null if there is nothing to say. */
  readonly notice: string | null;
}

/** Part of a tool call added by one step; `index` joins the deltas of a call. */
export interface ToolCallDelta {
  /** Index of the call in its choice. */
  readonly index: number;
  /** Present in the call's first delta. */
  readonly id?: string;
  readonly name?: string;
  /** Part of the arguments' JSON, or of the text that the tool takes. */
  readonly argumentsText: string;
  /** True for a {@link TextTool}. */
  readonly isText?: true;
}

/** Part of a choice added by one step. */
export interface ChatDelta {
  readonly choice: number;
  readonly text: string;
  /** The model's reasoning, which is not part of the answer's text. */
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCallDelta[];
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly ChatLogprob[];
  /** Set on the last delta of the choice. */
  readonly finish: ChatFinish | null;
  /** Usage so far, over all choices; `choiceTokens` counts the completion tokens of this choice. */
  readonly usage: ChatUsage;
  readonly choiceTokens: number;
}

/** A completion in progress. Its reader must read the deltas to the end or call `leave`. */
export interface ChatCompletion<Step = readonly ChatDelta[]> {
  readonly header: ChatHeader;
  /**
   * Deltas that arrived together are one step; each choice ends with a delta that has `finish`. Can be read only once.
   */
  readonly deltas: AsyncIterable<Step>;
  /** Usage so far; final once the deltas have ended. */
  readonly usage: ChatUsage;
  /**
   * Key of the recording; null if the completion is not recorded. Once the deltas have ended, the recording is on
   * disk; the key is then null if writing took too long.
   */
  readonly recordedAs: CompletionKey | null;
  /**
   * Ends the completion and frees its resources, as breaking out of the loop over its deltas does. No effect after the
   * end.
   */
  leave(): Promise<void>;
}

/** Deltas of one step, for one of several requests that are answered together. */
export interface RequestDeltas {
  /** Index of the request. */
  readonly request: number;
  readonly header: ChatHeader;
  readonly deltas: readonly ChatDelta[];
}

export interface ChatFinish {
  /** `tool_calls` if the choice calls tools. */
  readonly reason: FinishReason | "tool_calls";
  /**
   * Stop token that ended the choice, if the request or the generation config names it; null for the end-of-text
   * token.
   */
  readonly stopReason: number | null;
  /** Stop string that ended the choice. */
  readonly matchedStop: string | null;
}

/** Request for the tokens of a prompt, without an answer. */
export interface TokenizeRequest {
  /** Requested name; null for the server's default model. */
  readonly model: string | null;
  readonly prompt: ConversationPrompt | TextPrompt;
  /** True to return each token also as the tokenizer spells it. */
  readonly wantsTexts: boolean;
}

/** A prompt as tokens. */
export interface Tokenized {
  readonly tokenIds: readonly number[];
  /** Each token as the tokenizer spells it; null if not requested. */
  readonly texts: readonly string[] | null;
  /** Maximum number of tokens of prompt and answer together, for this model. */
  readonly contextLength: number;
}

/** Tokens to convert to text. */
export interface DetokenizeRequest {
  readonly model: string | null;
  /** Integers of at least 0. */
  readonly tokenIds: readonly number[];
}
