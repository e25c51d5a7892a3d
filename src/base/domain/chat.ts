// Chat completions, requests and responses, in terms that are independent of any API format.
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
   * Additional variables for the template. A variable here replaces a standard variable of the same name, except the
   * messages.
   */
  readonly templateArguments: JsonObject;
  /** Reasoning effort for the template, which may ignore it. The effort `none` also disables thinking. */
  readonly reasoningEffort: string | null;
  /** True if the prompt ends with the opening of a new turn of the assistant. */
  readonly addGenerationPrompt: boolean;
  /**
   * True if the prompt ends directly after the content of the final message, so that the model continues that message.
   * Cannot be combined with `addGenerationPrompt`.
   */
  readonly continueFinalMessage: boolean;
  /** An answer among the messages. The prompt begins with its exact tokens. Absent or null if there is none. */
  readonly sampled?: SampledTurn | null;
}

/** An earlier answer of the model that the conversation repeats. */
export interface SampledTurn {
  readonly messageIndex: number;
  /** Tokens of the prompt and of the answer, as the model got and sampled them. */
  readonly tokenIds: readonly number[];
  /** Thoughts of the answer; empty if there were none. */
  readonly reasoning: string;
}

/** Default options for rendering a conversation, both for serving and for training. */
export const plainConversation: Omit<Conversation, "messages"> = {
  tools: null,
  documents: null,
  templateArguments: {},
  reasoningEffort: null,
  addGenerationPrompt: true,
  continueFinalMessage: false,
};

/** Options that prompts of every kind have. */
interface PromptOptions {
  /**
   * Maximum number of prompt tokens; null for no maximum, -1 for as many as fit into the context. Of a longer prompt,
   * only the last tokens are used.
   */
  readonly truncation: number | null;
  /** True if the answer's text begins with the text of the last message, or, for a text prompt, with the prompt. */
  readonly echo: boolean;
}

/** A conversation to render with a chat template. */
export interface ConversationPrompt extends PromptOptions, Conversation {
  readonly kind: "conversation";
  /** Jinja template to use instead of the model's own; null to use the model's. */
  readonly template: string | null;
  /** True if the tokenizer adds its special tokens to those that the template writes. */
  readonly addSpecialTokens: boolean;
}

/** A text for the model to continue. */
export interface TextPrompt extends PromptOptions {
  readonly kind: "text";
  readonly text: string;
  /** True if the tokenizer adds its special tokens, such as a leading beginning-of-text token. */
  readonly addSpecialTokens: boolean;
}

/** A prompt as token ids. */
export interface TokenPrompt extends PromptOptions {
  readonly kind: "tokens";
  /** Token ids, each an integer of at least 0. */
  readonly tokenIds: readonly number[];
}

export type ChatPrompt = ConversationPrompt | TextPrompt | TokenPrompt;

/**
 * Sampling parameters as in {@link SamplingParameters}. Null means the model's default or, for the seed, a random one.
 */
export type ChatSampling = {
  readonly [Parameter in Exclude<keyof SamplingParameters, "badWords">]: SamplingParameters[Parameter] | null;
} & {
  /** Texts that the model must not generate. No text is empty. */
  readonly badWords: readonly string[] | null;
};

/** Rule for tool calls in an answer. `auto` lets the model decide; `required` and `named` require a call. */
export type ToolChoice =
  | { readonly kind: "none" }
  /** `allowed` has the names of the tools that the model may call; absent if it may call all. */
  | { readonly kind: "auto" | "required"; readonly allowed?: readonly string[] }
  /** The model must call the tool with this name. */
  | { readonly kind: "named"; readonly name: string };

export interface ChatCalls {
  /** Rule for tool calls. Undefined if the request does not set it; the default then depends on the model. */
  readonly choice: ToolChoice | undefined;
  /** True if an answer may contain several calls. */
  readonly areParallel: boolean;
  /** True if the constraint does not apply to an answer that calls tools. */
  readonly areExempt: boolean;
  /**
   * Tools that take a single text and no JSON arguments. The prompt shows each as a function with one text argument.
   */
  readonly texts: readonly TextTool[];
}

/** A tool that takes one text instead of arguments. */
export interface TextTool {
  readonly name: string;
  /** Constraint on the text; null if unconstrained. */
  readonly rule: ConstraintRule | null;
}

/** Name of the argument with the text, in the function by which the prompt represents a {@link TextTool}. */
export const textArgument = "input";

export interface ChatStopping {
  /**
   * Maximum number of answer tokens, at least 1. With Infinity, the answer may fill the context. Null means the model's
   * default, which is Infinity unless the model sets one.
   */
  readonly maxTokens: number | null;
  readonly minTokens: number;
  /** Stop strings: texts that end a choice. No text is empty. */
  readonly stop: readonly string[];
  readonly stopTokenIds: readonly number[];
  /** True if the tokens that the model uses to end its answer do not end a choice. */
  readonly ignoreEndTokens: boolean;
  /** True if the text of a choice includes the stop string or stop token that ended it. */
  readonly includeStopText: boolean;
}

/** Log-probabilities that a request asks for. */
export interface LogprobRequest {
  /** Number of alternatives to each token, 0 to 20. */
  readonly topCount: number;
}

export interface ChatOutput {
  readonly choices: ChoiceRequest;
  /**
   * Log-probabilities that the request asks for; null if it asks for none. Undefined if the request does not say; the
   * default then depends on the model.
   */
  readonly logprobs: LogprobRequest | null | undefined;
  /**
   * Number of alternatives to each prompt token; null if the request does not ask for log-probabilities of the prompt.
   */
  readonly promptLogprobCount: number | null;
  readonly returnTokenIds: boolean | undefined;
  readonly skipSpecialTokens: boolean;
  readonly includeReasoning: boolean;
  /** True to refuse the request if the model does not think before it answers; absent if the request does not say. */
  readonly requiresReasoning?: boolean;
}

export interface ChatIdentity {
  /** Id of the request, without the prefix `chatcmpl-` that answers have. */
  readonly requestId: string;
  /** Model name in the request; null for the server's default model. */
  readonly model: string | null;
  /** Id that the client gave to its user. */
  readonly user: string | null;
  /** Priority of the request. Requests with lower values run earlier. */
  readonly priority: number;
  readonly cacheSalt: string | null;
}

/**
 * A validated request. All defaults are set, except those that depend on the model. The chat service refuses options
 * that the engine lacks; an option that the chat service itself lacks has its default here, and `unserved` contains a
 * fault for it.
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
  /** Transfer of the prompt's KV cache between servers; null if this server computes and uses the prompt itself. */
  readonly passing: PromptPassing | null;
  /**
   * A fault for each requested option that the chat service does not support. The chat service reports them in the same
   * error as the options that the engine lacks.
   */
  readonly unserved: readonly Fault[];
}

type FieldsOf<Group extends Exclude<keyof ChatRequest, "unserved" | "passing">> =
  `${Group}.${string & Exclude<KeysOf<ChatRequest[Group]>, "kind">}`;

/** Keys of all members of a union type. */
type KeysOf<Value> = Value extends unknown ? keyof Value : never;

/** Path of a field of the request, such as `sampling.minP`. */
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
 * Returns a fault at a field of the request, or at a part of the field. Messages quote field names in backquotes (``
 * `sampling.minP` ``), so that an API format can replace them by its own names.
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
   * Text that the token adds. If a character consists of several tokens, the last of these tokens has the whole
   * character as its text, and the others have an empty text.
   */
  readonly text: string;
  readonly bytes: readonly number[];
  readonly logprob: number;
  readonly alternatives: readonly Omit<ChatLogprob, "alternatives">[];
}

/** A token with its rank among all tokens by probability; see `RankedToken`. */
export interface ChatRankedToken {
  readonly tokenId: number;
  /** Text of the token. */
  readonly text: string;
  readonly logprob: number;
  readonly rank: number;
}

/** A token of the prompt, with its log-probability given all tokens before it. */
export interface ChatPromptLogprob extends ChatRankedToken {
  /** The most probable tokens in order, which may include the token itself. */
  readonly alternatives: readonly ChatRankedToken[];
}

export interface ChatHeader {
  /** Model name in the request, or the name of the default model. */
  readonly model: string;
  /** Fingerprint of the base model, its version and the build of the engine. */
  readonly fingerprint: string;
  readonly createdAt: Date;
  readonly role: string;
  /** Number of choices that the request asks for. Beam search may return fewer. */
  readonly choiceCount: number;
  /** Text that comes before the text of each choice, but not in its deltas; empty if `echo` is off. */
  readonly echo: string;
  readonly promptTokenIds: readonly number[];
  /**
   * Log-probabilities of the prompt's tokens, with one entry per token. The first entry is null. The field itself is
   * null if the request does not ask for these log-probabilities.
   */
  readonly promptLogprobs: readonly (ChatPromptLogprob | null)[] | null;
  /**
   * Tokens of the echoed prompt, each with the text that it adds; null if the request does not ask for
   * log-probabilities of the echo.
   */
  readonly echoedTokens: readonly Pick<ChatLogprob, "tokenId" | "text" | "bytes">[] | null;
  /**
   * How log-probabilities identify tokens: by their text or by their id. With `off`, answers contain no
   * log-probabilities, but the deltas of recorded answers do.
   */
  readonly logprobs: "off" | "text" | "token-id";
  /**
   * Places of token ids in the answer. `top` is true if the request asks for token ids (`return_token_ids`).
   * `inChoices` is true if each choice contains its token ids, as in answers of trained models.
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
  /** A sentence about how Hone interpreted the request; null if there is nothing to say. */
  readonly notice: string | null;
  /** Durations in milliseconds of stages before the answer: finding and loading the model, and computing the prompt. */
  readonly stages: { readonly loadMs: number; readonly promptMs: number };
}

/** Part of a tool call that one generation step added. Deltas with the same `index` belong to the same call. */
export interface ToolCallDelta {
  /** Index of the call among the calls of its choice. */
  readonly index: number;
  /** Id of the call; present only in the call's first delta. */
  readonly id?: string;
  readonly name?: string;
  /** Text that this delta adds to the arguments, which are JSON, or to the input of a tool that takes a text. */
  readonly argumentsText: string;
  /** True if the called tool is a {@link TextTool}. */
  readonly isText?: true;
}

/** Part of a choice that one generation step added. */
export interface ChatDelta {
  readonly choice: number;
  readonly text: string;
  /** The model's reasoning, which is not part of the answer's text. */
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCallDelta[];
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly ChatLogprob[];
  /** Reason for the end of the choice, with related data; null except in the choice's last delta. */
  readonly finish: ChatFinish | null;
  /**
   * Usage of all choices of the request up to this delta. `choiceTokens` counts only this choice's tokens in this
   * delta.
   */
  readonly usage: ChatUsage;
  readonly choiceTokens: number;
}

/** A completion that is running. Its reader must iterate over all deltas or call `leave`. */
export interface ChatCompletion<Step = readonly ChatDelta[]> {
  readonly header: ChatHeader;
  /**
   * Deltas of each step, which arrived together. The last delta of each choice has `finish`. The deltas can be iterated
   * over only once.
   */
  readonly deltas: AsyncIterable<Step>;
  /** Usage up to now; final once the deltas have ended. */
  readonly usage: ChatUsage;
  /**
   * Key of the recording; null if the completion is not recorded. After the last delta, the recording is on disk. If
   * writing it took too long, the key becomes null.
   */
  readonly recordedAs: CompletionKey | null;
  /**
   * Ends the completion early and frees its resources. Breaking out of a loop over the deltas has the same effect. Does
   * nothing after the end.
   */
  leave(): Promise<void>;
}

/** Deltas of one step for one of several requests that are processed together. */
export interface RequestDeltas {
  /** Index of the request among those processed together. */
  readonly request: number;
  readonly header: ChatHeader;
  readonly deltas: readonly ChatDelta[];
}

export interface ChatFinish {
  /** Reason for the end of the choice; `tool_calls` if the choice calls tools. */
  readonly reason: FinishReason | "tool_calls";
  /**
   * Stop token that ended the choice, if the request or the model's generation config names it; null for the model's
   * end-of-text token.
   */
  readonly stopReason: number | null;
  /** Stop string that ended the choice; null if none did. */
  readonly matchedStop: string | null;
}

/** Request to tokenize a prompt without generating an answer. */
export interface TokenizeRequest {
  /** Model name in the request; null for the server's default model. */
  readonly model: string | null;
  readonly prompt: ConversationPrompt | TextPrompt;
  /** True if the answer should also have each token in the tokenizer's spelling. */
  readonly wantsTexts: boolean;
}

/** A prompt as tokens. */
export interface Tokenized {
  readonly tokenIds: readonly number[];
  /** Each token in the tokenizer's spelling; null if the request does not ask for it. */
  readonly texts: readonly string[] | null;
  /** Maximum number of tokens of prompt and answer together, for this model. */
  readonly contextLength: number;
}

/** Tokens to convert to text. */
export interface DetokenizeRequest {
  readonly model: string | null;
  /** Token ids, each an integer of at least 0. */
  readonly tokenIds: readonly number[];
}
