// Converts a parsed body to the domain's ChatRequest and the answer's form, which only the wire knows.
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

/** Returns the paths of a domain request's fields in the body that was read by these fields. */
export function fieldPathsOf(fields: Fields, body: object): FieldPaths {
  // The model resolver names its field without a group.
  const fieldPaths: Record<string, readonly string[]> = { model: ["body", "model"] };
  const names = Object.entries(fields);
  const sent = new Map(Object.entries(body));
  const wasSent = ([name]: readonly [string, unknown]): boolean => (sent.get(name) ?? null) !== null;
  for (const [name, { reads }] of [...names.filter(wasSent), ...names]) {
    if (reads !== null) fieldPaths[reads] ??= ["body", name];
  }
  return fieldPaths;
}

/** Id under which a request is logged and answered. */
export interface RequestId {
  readonly value: string;
  /** True if the client sent it in the header `x-request-id`; otherwise it is new. */
  readonly isChosen: boolean;
}

export function freshRequestId(): RequestId {
  return { value: newUuid(), isChosen: false };
}

/** Returns the header's id, else the body's, else a new one, so that answer, header and log agree. */
function completionId(own: RequestId, inBody: string | undefined): string {
  return own.isChosen ? own.value : (inBody ?? own.value);
}

/** Returns the path of the id that {@link completionId} used. */
export function requestIdPaths({ isChosen }: RequestId): FieldPaths {
  return { "identity.requestId": isChosen ? ["header", "x-request-id"] : ["body", "request_id"] };
}

/** Form of the answer. */
export interface ChatAnswerForm {
  readonly isStream: boolean;
  /** True if a last chunk has the usage. */
  readonly includesUsage: boolean;
  /** True if every chunk has the usage so far. */
  readonly usageInEveryChunk: boolean;
  /** True if the request asks for tokens of log-probabilities as `token_id:<N>`. */
  readonly tokensAsIds: boolean;
}

export interface ReadChatRequest {
  readonly request: ChatRequest;
  readonly form: ChatAnswerForm;
  /** Paths of the request's fields in the body. */
  readonly fieldPaths: FieldPaths;
  readonly ignored: readonly string[];
  /** Notices for the client about how the request was read, as sentences. */
  readonly notices: readonly string[];
}

/**
 * Checks the whole body and reads it.
 *
 * @param exact the body with exact numbers
 * @throws ServiceError `invalid` with every fault of shape, type, range and combination, and every unsupported option;
 * if there are only unsupported options, they are in the request instead
 */
export function readChatRequest(
  value: unknown,
  limits: ChatLimits,
  requestId = freshRequestId(),
  exact = value,
): ReadChatRequest {
  refuseBeyondLimits(value, limits);
  const { value: body, ignored, unserved } = readWithUnserved(chatForm, value);
  // Safe cast: it differs from the body only in the digits of numbers, which no constraint member is.
  const constraint = readConstraint(withoutFaultyFields(exact as ChatRequestBody, unserved));
  return {
    request: { ...toRequest(withoutFaultyFields(body, unserved), { requestId, constraint }), unserved },
    form: answerFormOf(body),
    fieldPaths: { ...fieldPathsOf(chatFields, body), ...requestIdPaths(requestId) },
    ignored,
    notices: [],
  };
}

/** Returns the body without the fields at fault, none of which is required: chat gets their defaults. */
export function withoutFaultyFields<Body extends object>(body: Body, unserved: readonly Fault[]): Body {
  const names = new Set(unserved.map(({ location }) => location[1]));
  // Safe cast: every required field is left.
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
 * Returns the number of log-probabilities for echoed text, as for the answer; null without echo, and in streams and
 * beam searches.
 */
function echoedLogprobCount(body: ChatRequestBody): number | null {
  const isJudged = body.echo === true && body.stream !== true && body.use_beam_search !== true;
  return isJudged ? (body.top_logprobs ?? 0) : null;
}

/** Parts of a request that control how answers are sampled, ended and written. */
type GenerationParts = Pick<ChatRequest, "identity" | "sampling" | "constraint" | "recording" | "passing"> & {
  readonly stopping: Omit<ChatStopping, "maxTokens">;
  readonly output: Omit<ChatOutput, "logprobs" | "includeReasoning">;
};

/** Input for a request from outside its body. */
interface GenerationContext {
  readonly requestId: RequestId;
  readonly constraint: Constraint | null;
}

/** Reads these parts of a checked body. */
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
      // Safe cast: the schema allows only texts.
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

/** Fields for the conversation and its rendering; the last two only with an answer. */
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

/** If several fields set the same parameter, the first one sent counts; lists are joined. */
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
  // Safe cast: each row's reader has its parameter's type, and a test checks that no parameter lacks a row.
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

/** Safe cast: parsed from JSON. An empty list or object means the same as null. */
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
