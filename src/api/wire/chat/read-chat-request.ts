// Converts a parsed body to the domain's ChatRequest. Also returns the requested form of the answer, which the domain
// does not know.
import { type BodyForm, readWithUnserved } from "../body.ts";
import type { Fields, Field, ValuesOf } from "../fields/field.ts";
import type { FieldPaths } from "../field-paths.ts";
import { checkCombinations } from "./chat-combinations.ts";
import { unservedConstraint, readConstraint } from "./chat-constraint.ts";
import { chatFields, chatRequestSchema, type ChatRequestBody, type GenerationBody } from "./chat-request.ts";
import { newUuid } from "../../../base/domain/random.ts";
import type {
  ChatOutput,
  ChatRequest,
  ChatSampling,
  ChatStopping,
  ConversationPrompt,
} from "../../../base/domain/chat.ts";
import type { Constraint } from "../../../base/domain/constraint.ts";
import type { Fault } from "../../../base/domain/service-error.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { MessageRecord } from "../../../base/domain/trajectory.ts";
import { templateArgumentsOf } from "../../../train/trajectories/conversation-tokenizer.ts";
import { readCalls, asFunctionTool, withFunctionCalls } from "./chat-calls.ts";
import { refuseBeyondLimits, type ChatLimits, readTokenLimit } from "./chat-limits.ts";
import type { conversationFields } from "./fields/conversation-fields.ts";
import { samplingFields } from "./fields/sampling-fields.ts";
import { readPassing } from "../transfer/passing-params.ts";

export const chatForm: BodyForm<typeof chatRequestSchema> = {
  schema: chatRequestSchema,
  fields: chatFields,
  more: checkCombinations,
  moreUnserved: unservedConstraint,
};

/**
 * Returns the location in the request of each field of the domain request. If the client sent several body fields that
 * set the same domain field, the location is that of the body field whose row comes first.
 */
export function fieldPathsOf(fields: Fields, body: object): FieldPaths {
  // Errors about the model use the plain name `model`, without a group, so no row below sets this location.
  const fieldPaths: Record<string, readonly string[]> = { model: ["body", "model"] };
  const names = Object.entries(fields);
  const sent = new Map(Object.entries(body));
  const wasSent = ([name]: readonly [string, unknown]): boolean => (sent.get(name) ?? null) !== null;
  for (const [name, { reads }] of [...names.filter(wasSent), ...names]) {
    if (reads !== null) fieldPaths[reads] ??= ["body", name];
  }
  return fieldPaths;
}

/** Id of a request, as it appears in logs and answers. */
export interface RequestId {
  readonly value: string;
  /** True if the client chose the id in the header `x-request-id`. Otherwise this server generated it. */
  readonly isChosen: boolean;
  /** Appended to an id that the client chose, to make it unique; absent if the id stays as it is. */
  readonly suffix?: string;
}

export function freshRequestId(): RequestId {
  return { value: newUuid(), isChosen: false };
}

/**
 * Returns the id from the header, else the id from the body, else the generated one. Unless it gets a suffix, the
 * answer, the response header and the log thus all have the same id.
 */
function completionId({ value, isChosen, suffix = "" }: RequestId, inBody: string | undefined): string {
  const chosen = isChosen ? value : inBody;
  return chosen === undefined ? value : chosen + suffix;
}

/**
 * Returns the path of the request's id: the header if the client sent the id there, otherwise the field in the body.
 */
export function requestIdPaths({ isChosen }: RequestId): FieldPaths {
  return { "identity.requestId": isChosen ? ["header", "x-request-id"] : ["body", "request_id"] };
}

/** Form of the answer that the request asks for: how it is sent and written. */
export interface ChatAnswerForm {
  readonly isStream: boolean;
  /** True if an additional last chunk contains the usage. */
  readonly includesUsage: boolean;
  /** True if every chunk contains the usage up to this chunk. */
  readonly usageInEveryChunk: boolean;
  /** True if the request asks for log-probabilities that name tokens as `token_id:<N>`. */
  readonly tokensAsIds: boolean;
}

export interface ReadChatRequest {
  readonly request: ChatRequest;
  readonly form: ChatAnswerForm;
  /** Location in the client's request of each field of the domain request. */
  readonly fieldPaths: FieldPaths;
  readonly ignored: readonly string[];
  /** Sentences for the client about how the server interpreted the request. */
  readonly notices: readonly string[];
}

/**
 * Checks a body and converts it to a chat request.
 *
 * @param exact the same body, with numbers as the client wrote them
 * @throws ServiceError `invalid` with every fault of shape, type, range and combination, and every unsupported option.
 * Unsupported options without other faults are not thrown, but stored in the request
 */
export function readChatRequest(
  value: unknown,
  limits: ChatLimits,
  requestId = freshRequestId(),
  exact = value,
): ReadChatRequest {
  refuseBeyondLimits(value, limits);
  const { value: body, ignored, unserved } = readWithUnserved(chatForm, value);
  // Safe cast: `exact` has the content of the checked body, except that its numbers are as the client wrote them. No
  // constraint field is a number.
  const constraint = readConstraint(withoutFaultyFields(exact as ChatRequestBody, unserved));
  return {
    request: { ...toRequest(withoutFaultyFields(body, unserved), { requestId, constraint }), unserved },
    form: answerFormOf(body),
    fieldPaths: { ...fieldPathsOf(chatFields, body), ...requestIdPaths(requestId) },
    ignored,
    notices: [],
  };
}

/** Returns the body without the fields that have faults. None of these fields is required, so their defaults apply. */
export function withoutFaultyFields<Body extends object>(body: Body, unserved: readonly Fault[]): Body {
  const names = new Set(unserved.map(({ location }) => location[1]));
  // Safe cast: only optional fields are removed.
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.has(name))) as Body;
}

function toRequest(body: ChatRequestBody, read: GenerationContext): Omit<ChatRequest, "unserved"> {
  const { logprobs } = body;
  const { stopping, output, ...parts } = readGeneration(body, read);
  return {
    ...parts,
    prompt: readConversation(body),
    calls: readCalls(body),
    stopping: { ...stopping, maxTokens: readTokenLimit(body.max_completion_tokens ?? body.max_tokens) },
    output: {
      ...output,
      promptLogprobCount: output.promptLogprobCount ?? echoedLogprobCount(body),
      logprobs:
        logprobs === true ? { topCount: body.top_logprobs ?? 0 } : logprobs === false ? null : undefined,
      includeReasoning: body.include_reasoning ?? true,
    },
  };
}

/**
 * Returns how many alternatives the log-probabilities of echoed text have, which is the same number as for the answer.
 * Returns null if these log-probabilities are not available: without an echo, in streams and for beam searches.
 */
function echoedLogprobCount(body: ChatRequestBody): number | null {
  const isJudged = body.echo === true && body.stream !== true && body.use_beam_search !== true;
  return isJudged ? (body.top_logprobs ?? 0) : null;
}

/**
 * Parts of a chat request that control how answers are sampled, ended and written, except those that text completions
 * spell differently.
 */
type GenerationParts = Pick<ChatRequest, "identity" | "sampling" | "constraint" | "recording" | "passing"> & {
  readonly stopping: Omit<ChatStopping, "maxTokens">;
  readonly output: Omit<ChatOutput, "logprobs" | "includeReasoning">;
};

/** Values of a request that are not fields of its checked body. */
interface GenerationContext {
  readonly requestId: RequestId;
  readonly constraint: Constraint | null;
}

/** Converts the generation fields of a checked body to parts of the domain request. */
export function readGeneration(
  body: GenerationBody,
  { requestId, constraint }: GenerationContext,
): GenerationParts {
  const { stop } = body;
  return {
    identity: {
      requestId: completionId(requestId, body.request_id),
      model: body.model ?? null,
      user: body.user ?? null,
      priority: body.priority ?? 0,
      cacheSalt: body.cache_salt ?? null,
    },
    sampling: samplingOf(body),
    constraint,
    recording: {
      isWanted: body.store ?? null,
      // Safe cast: the schema allows only texts as values.
      metadata: (body.metadata ?? {}) as Readonly<Record<string, string>>,
    },
    passing: readPassing(body.kv_transfer_params),
    stopping: {
      minTokens: body.min_tokens ?? 0,
      stop: typeof stop === "string" ? [stop] : (stop ?? []),
      stopTokenIds: body.stop_token_ids ?? [],
      ignoreEndTokens: body.ignore_eos ?? false,
      includeStopText: body.include_stop_str_in_output ?? false,
    },
    output: outputOf(body),
  };
}

/**
 * Fields for the conversation and how it is rendered. Tokenization requests lack the last two, `truncate_prompt_tokens`
 * and `echo`.
 */
type ConversationBody = ValuesOf<typeof conversationFields> &
  Pick<ChatRequestBody, "truncate_prompt_tokens" | "echo">;

export function readConversation(body: ConversationBody): ConversationPrompt {
  const continueFinalMessage = body.continue_final_message ?? false;
  return {
    kind: "conversation",
    // Safe cast: parsed from JSON.
    messages: body.messages.map(withFunctionCalls) as readonly MessageRecord[],
    tools: nullIfEmpty(body.tools?.map(asFunctionTool)),
    documents: nullIfEmpty(body.documents),
    template: body.chat_template ?? null,
    // Safe cast: parsed from JSON.
    templateArguments: templateArgumentsOf(body as JsonObject),
    reasoningEffort: body.reasoning_effort ?? null,
    addGenerationPrompt: body.add_generation_prompt ?? !continueFinalMessage,
    continueFinalMessage,
    addSpecialTokens: body.add_special_tokens ?? false,
    truncation: body.truncate_prompt_tokens ?? null,
    echo: body.echo ?? false,
  };
}

type SamplingField = Field & { readonly reads: `sampling.${string}` };

/**
 * Returns the sampling parameters. If the client sent several fields that set the same parameter, the field whose row
 * comes first counts. Lists are joined instead.
 */
function samplingOf(body: Readonly<Record<string, unknown>>): ChatSampling {
  const sampling: Record<string, unknown> = {};
  for (const [name, { reads, read }] of Object.entries<SamplingField>(samplingFields)) {
    const parameter = reads.slice("sampling.".length);
    const sent = body[name] ?? null;
    const value = sent === null || read === undefined ? sent : read(sent);
    const before = sampling[parameter] ?? null;
    sampling[parameter] =
      Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : (before ?? value);
  }
  // Safe cast: the reader of each row returns the type of its parameter, and a test checks that every parameter has a
  // row.
  return sampling as unknown as ChatSampling;
}

function outputOf(body: GenerationBody): GenerationParts["output"] {
  const { n } = body;
  return {
    choices:
      body.use_beam_search === true
        ? { kind: "beam", width: n ?? 1, lengthPenalty: body.length_penalty ?? 1 }
        : { kind: "sample", count: n ?? 1 },
    promptLogprobCount: body.prompt_logprobs ?? null,
    returnTokenIds: body.return_token_ids ?? undefined,
    skipSpecialTokens: body.skip_special_tokens ?? true,
  };
}

/**
 * Treats an empty list or object like null. The overload serves as a safe cast, because the value was parsed from JSON.
 */
function nullIfEmpty(value: readonly object[] | null | undefined): readonly JsonObject[] | null;
function nullIfEmpty(value: object | null | undefined): unknown {
  return value === null || value === undefined || Object.keys(value).length === 0 ? null : value;
}

export function answerFormOf(body: GenerationBody): ChatAnswerForm {
  const options = body.stream_options ?? null;
  const includesUsage = options?.include_usage === true;
  return {
    isStream: body.stream ?? false,
    includesUsage,
    usageInEveryChunk: includesUsage && (options?.continuous_usage_stats ?? false),
    tokensAsIds: body.return_tokens_as_token_ids ?? false,
  };
}
