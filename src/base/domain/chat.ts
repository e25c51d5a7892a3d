// Chat completions in the domain's terms: request and response, independent of any wire format.
import type { Constraint, ConstraintRule } from "./constraint.ts";
import type { ChoiceRequest, FinishReason } from "./generation.ts";
import type { HeldPlace, PassedParameters, PromptPassing } from "./prompt-transfer.ts";
import type { CompletionKey, RecordingWish } from "./recordings/completion-key.ts";
import type { SamplingParameters } from "./sampling.ts";
import type { Fault } from "./service-error.ts";
import type { JsonObject } from "./text/json.ts";
import type { MessageRecord } from "./trajectory.ts";

/** Input of a chat template. Messages, tools and documents have the same field names as in the API. */
export interface Conversation {
  /** Messages as sent: content parts are not joined, and null members are kept. */
  readonly messages: readonly MessageRecord[];
  readonly tools: readonly JsonObject[] | null;
  readonly documents: readonly JsonObject[] | null;
  /**
   * Additional variables for the template. A variable here replaces a standard variable of the same name, but not the
   * messages.
   */
  readonly templateArguments: JsonObject;
  /** Reasoning effort for the template, which may ignore it; `none` also disables thinking. */
  readonly reasoningEffort: string | null;
  /** True if the prompt ends with the opening of the assistant's turn. */
  readonly addGenerationPrompt: boolean;
  /**
   * True if the prompt ends directly after the final message's content, so that the model continues that message.
   * Excludes `addGenerationPrompt`.
   */
  readonly continueFinalMessage: boolean;
}

/** Default rendering options of a conversation, in serving and in training. */
export const plainConversation: Omit<Conversation, "messages"> = {
  tools: null,
  documents: null,
  templateArguments: {},
  reasoningEffort: null,
  addGenerationPrompt: true,
  continueFinalMessage: false,
};

/** Options that every kind of prompt has. */
interface PromptOptions {
  /**
   * Maximum number of prompt tokens. If the prompt is longer, only its last tokens are used; -1 uses as many as fit
   * into the context.
   */
  readonly truncation: number | null;
  /** True if the answer's text begins with the text of the last message or, for a text prompt, with the prompt. */
  readonly echo: boolean;
}

/** A conversation to render with a chat template. */
export interface ConversationPrompt extends PromptOptions, Conversation {
  readonly kind: "conversation";
  /** Jinja template that replaces the model's own. */
  readonly template: string | null;
  /** True if the tokenizer's special tokens are added to those of the template. */
  readonly addSpecialTokens: boolean;
}

/** A text for the model to continue. */
export interface TextPrompt extends PromptOptions {
  readonly kind: "text";
  readonly text: string;
  /** True if the tokenizer's special tokens, such as a leading beginning-of-text token, are added. */
  readonly addSpecialTokens: boolean;
}

/** A prompt as token ids. */
export interface TokenPrompt extends PromptOptions {
  readonly kind: "tokens";
  /** Token ids, each an integer of at least 0. */
  readonly tokenIds: readonly number[];
}

export type ChatPrompt = ConversationPrompt | TextPrompt | TokenPrompt;

/** Sampling parameters as in {@link SamplingParameters}. Null means the model's default; for the seed, a random one. */
export type ChatSampling = {
  readonly [Parameter in Exclude<keyof SamplingParameters, "badWords">]: SamplingParameters[Parameter] | null;
} & {
  /** Texts that must not be generated. No text is empty. */
  readonly badWords: readonly string[] | null;
};

/** Rule for calling tools in an answer: `auto` lets the model decide; `required` and `named` require a call. */
export type ToolChoice =
  | { readonly kind: "none" }
  /** `allowed` contains the names of the tools that may be called; absent if all may be called. */
  | { readonly kind: "auto" | "required"; readonly allowed?: readonly string[] }
  /** Requires calls of the tool with this name. */
  | { readonly kind: "named"; readonly name: string };

export interface ChatCalls {
  /** Tool choice; undefined if the request does not set it, in which case the default depends on the model. */
  readonly choice: ToolChoice | undefined;
  /** True if an answer may contain several calls. */
  readonly areParallel: boolean;
  /** True if the constraint does not apply to an answer that calls tools. */
  readonly areExempt: boolean;
  /** Tools that take a single text and no JSON arguments. The prompt shows each as a function with one text argument. */
  readonly texts: readonly TextTool[];
}

/** A tool that takes one text instead of arguments. */
export interface TextTool {
  readonly name: string;
  /** Constraint on the text; null if unconstrained. */
  readonly rule: ConstraintRule | null;
}

/** Name of the argument that contains the text, in the function that represents such a tool. */
export const textArgument = "input";

export interface ChatStopping {
  /**
   * Maximum number of answer tokens, at least 1; with Infinity, the answer may fill the context. Null for the model's
   * default, which is Infinity unless the model sets one.
   */
  readonly maxTokens: number | null;
  readonly minTokens: number;
  /** Stop strings: texts that end a choice. No text is empty. */
  readonly stop: readonly string[];
  readonly stopTokenIds: readonly number[];
  /** True if the model's own end tokens do not end a choice. */
  readonly ignoreEndTokens: boolean;
  /** True if a choice's text includes the text or token that ended it. */
  readonly includeStopText: boolean;
}

/** Requested log-probabilities of a reply. */
export interface LogprobRequest {
  /** Number of alternatives per token, 0 to 20. */
  readonly topCount: number;
}

export interface ChatOutput {
  readonly choices: ChoiceRequest;
  /**
   * Requested log-probabilities; null if explicitly off. Undefined if the request does not set them, in which case the
   * default depends on the model.
   */
  readonly logprobs: LogprobRequest | null | undefined;
  /** Number of alternatives for each prompt token; null if log-probabilities of the prompt are not requested. */
  readonly promptLogprobCount: number | null;
  readonly returnTokenIds: boolean | undefined;
  readonly skipSpecialTokens: boolean;
  readonly includeReasoning: boolean;
}

export interface ChatIdentity {
  /** Id of the request, without the `chatcmpl-` prefix. */
  readonly requestId: string;
  /** Requested name; null for the server's default model. */
  readonly model: string | null;
  /** User id given by the client. */
  readonly user: string | null;
  /** Priority; lower values run earlier. */
  readonly priority: number;
  readonly cacheSalt: string | null;
}

/**
 * A validated request. All defaults are resolved, except those that depend on the model. Chat refuses a feature that
 * the engine lacks; a feature that chat lacks itself has its default value here and is reported in `unserved`.
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
  /** Transfer of the prompt's KV cache between servers; null if the prompt is computed and used on this server. */
  readonly passing: PromptPassing | null;
  /**
   * One fault for each requested option that chat does not support. Chat reports them in the same error as the options
   * that the engine lacks.
   */
  readonly unserved: readonly Fault[];
}

type FieldsOf<Group extends Exclude<keyof ChatRequest, "unserved" | "passing">> =
  `${Group}.${string & Exclude<KeysOf<ChatRequest[Group]>, "kind">}`;

/** Keys of all members of a union type. */
type KeysOf<Value> = Value extends unknown ? keyof Value : never;

/** A request field, identified by its path, such as `sampling.minP`. */
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
 * Returns a fault at a field or below it. Messages quote field names in backquotes (`` `sampling.minP` ``), so that a
 * wire format can substitute its own names.
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
  /**
   * Text of the token. A character may consist of several tokens: the last of them has the character as its text, and
   * the text of the others is empty.
   */
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
  /** The k most probable tokens in order, which may include the token itself. */
  readonly alternatives: readonly ChatRankedToken[];
}

export interface ChatHeader {
  /** Name of the model as requested, or the default model's name. */
  readonly model: string;
  /** Fingerprint of base model, version and engine build. */
  readonly fingerprint: string;
  readonly createdAt: Date;
  readonly role: string;
  /** Number of requested choices; beam search may return fewer. */
  readonly choiceCount: number;
  /** Text that precedes each choice's text and is not in its deltas; empty if `echo` is off. */
  readonly echo: string;
  readonly promptTokenIds: readonly number[];
  /**
   * Log-probabilities of the prompt's tokens, one entry per token; the first token's entry is null. The whole list is
   * null if not requested.
   */
  readonly promptLogprobs: readonly (ChatPromptLogprob | null)[] | null;
  /**
   * Tokens of the echoed prompt, each with the text that it adds; null if log-probabilities of the echoed tokens are
   * not requested.
   */
  readonly echoedTokens: readonly Pick<ChatLogprob, "tokenId" | "text" | "bytes">[] | null;
  /**
   * How log-probabilities show tokens: as texts or as ids. With `off`, responses contain no log-probabilities, but
   * deltas of recorded answers do.
   */
  readonly logprobs: "off" | "text" | "token-id";
  /**
   * `top` is true if the client requested token ids (`return_token_ids`). `inChoices` is true if each choice also
   * contains its own token ids, as answers of trained models do.
   */
  readonly tokenIds: { readonly top: boolean; readonly inChoices: boolean };
  /**
   * Address from which another server can fetch the prompt's KV cache; null if this server does not hold the cache for
   * others.
   */
  readonly heldAt:
    | (HeldPlace & { readonly tokenCount: number })
    | { readonly parameters: PassedParameters }
    | null;
  /** One sentence about how Hone interpreted the request; null if there is nothing to report. */
  readonly notice: string | null;
}

/** The part of a tool call that one step added. Deltas with the same `index` belong to the same call. */
export interface ToolCallDelta {
  /** Index of the call within its choice. */
  readonly index: number;
  /** Id of the call; present only in its first delta. */
  readonly id?: string;
  readonly name?: string;
  /** Part of the arguments' JSON, or of the text that the tool takes. */
  readonly argumentsText: string;
  /** True if the called tool is a {@link TextTool}. */
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
  /** How the choice ended; set only in its last delta. */
  readonly finish: ChatFinish | null;
  /** Usage so far, over all choices; `choiceTokens` counts only this choice's completion tokens. */
  readonly usage: ChatUsage;
  readonly choiceTokens: number;
}

/** A completion in progress. Its reader must iterate over all deltas or call `leave`. */
export interface ChatCompletion<Step = readonly ChatDelta[]> {
  readonly header: ChatHeader;
  /**
   * Deltas in steps. The deltas of a step arrived together, and the last delta of each choice has `finish`. They can
   * be iterated only once.
   */
  readonly deltas: AsyncIterable<Step>;
  /** Usage so far; final once the deltas have ended. */
  readonly usage: ChatUsage;
  /**
   * Key of the recording; null if the completion is not recorded. After the last delta, the recording is on disk. If
   * writing it took too long, the key becomes null.
   */
  readonly recordedAs: CompletionKey | null;
  /**
   * Ends the completion early and frees its resources. A reader that breaks out of the loop over the deltas has the
   * same effect. Does nothing after the end.
   */
  leave(): Promise<void>;
}

/** Deltas of one step for one of several requests that are processed together. */
export interface RequestDeltas {
  /** Index of the request. */
  readonly request: number;
  readonly header: ChatHeader;
  readonly deltas: readonly ChatDelta[];
}

export interface ChatFinish {
  /** Finish reason; `tool_calls` if the choice calls tools. */
  readonly reason: FinishReason | "tool_calls";
  /**
   * Stop token that ended the choice, if the request or the generation config names this token; null for the model's
   * end-of-text token.
   */
  readonly stopReason: number | null;
  /** Stop string that ended the choice. */
  readonly matchedStop: string | null;
}

/** Request to tokenize a prompt without generating an answer. */
export interface TokenizeRequest {
  /** Requested name; null for the server's default model. */
  readonly model: string | null;
  readonly prompt: ConversationPrompt | TextPrompt;
  /** True to also return each token in the tokenizer's spelling. */
  readonly wantsTexts: boolean;
}

/** A prompt as tokens. */
export interface Tokenized {
  readonly tokenIds: readonly number[];
  /** Each token in the tokenizer's spelling; null if not requested. */
  readonly texts: readonly string[] | null;
  /** Maximum number of prompt and answer tokens together, for this model. */
  readonly contextLength: number;
}

/** Tokens to convert to text. */
export interface DetokenizeRequest {
  readonly model: string | null;
  /** Token ids, each an integer of at least 0. */
  readonly tokenIds: readonly number[];
}
