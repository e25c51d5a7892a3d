// Converts a parsed body of the Responses API to the domain's ChatRequest. Builds the equivalent chat request and reads
// that one, so that equal fields have equal effects. Faults have the path at which the client sent the field.
import type { ChatRequest } from "../../../base/domain/chat.ts";
import { cut, ServiceError } from "../../../base/domain/service-error.ts";
import { isObject } from "../../../base/validation/findings.ts";
import { readForm } from "../body.ts";
import { longList, type ChatLimits } from "../chat/chat-limits.ts";
import { freshRequestId, readChatRequest } from "../chat/read-chat-request.ts";
import type { FieldPaths } from "../field-paths.ts";
import { chatBody } from "./chat-body.ts";
import { inputMessages } from "./input-messages.ts";
import { responsesForm } from "./responses-fields.ts";
import { isShownType, unknownIncludes, type ResponsesRequestBody } from "./responses-request.ts";
import { toSentError, toSentFault, toSentPath, type SentOrigins } from "./sent-paths.ts";

/** Form of the answer: whether it is streamed, and the fields of the request that the answer repeats. */
export interface ResponsesAnswerForm {
  readonly isStream: boolean;
  readonly repeated: RepeatedFields;
}

/** Fields of the request that the answer repeats, with their values. */
export interface RepeatedFields {
  readonly instructions: string | null;
  readonly max_output_tokens: number | null;
  readonly metadata: object;
  readonly parallel_tool_calls: boolean;
  readonly reasoning: object;
  readonly temperature: number | null;
  readonly text: object;
  readonly tool_choice: unknown;
  readonly tools: readonly object[];
  readonly top_logprobs: number;
  readonly top_p: number | null;
  readonly truncation: string;
  readonly user: string | null;
}

export interface ReadResponsesRequest {
  readonly request: ChatRequest;
  readonly form: ResponsesAnswerForm;
  /**
   * Location in the request of each field of the domain request. A message's location is that in the chat request;
   * `origins` translates it to the client's request.
   */
  readonly fieldPaths: FieldPaths;
  /** For the messages and tools of the chat request, the paths in the client's body from which they were built. */
  readonly origins: SentOrigins;
  /** Sentences for the client about how the server interpreted the request. */
  readonly notices: readonly string[];
  readonly ignored: readonly string[];
}

/**
 * Checks a body and converts it to a chat request.
 *
 * @param exact the same body, with numbers as the client wrote them
 * @throws ServiceError `invalid` and `unsupported` like {@link readForm}, and `invalid` like {@link readChatRequest}
 */
export function readResponsesRequest(
  value: unknown,
  limits: ChatLimits,
  requestId = freshRequestId(),
  exact = value,
): ReadResponsesRequest {
  refuseLongLists(value, limits);
  const { value: body, ignored } = readForm(responsesForm, value);
  const messages = inputMessages(body);
  const shown = (body.tools ?? []).flatMap((tool, index) =>
    isShownType(tool.type) ? [{ tool, index }] : [],
  );
  const tools = shown.map(({ tool }) => tool);
  refuseUnfulfillableChoice(body, tools);
  const origins = {
    messages: messages.map(({ origin }) => origin),
    tools: shown.map(({ index }) => index),
  };
  try {
    const { request, fieldPaths, notices } = readChatRequest(
      chatBody(body, messages, tools),
      limits,
      requestId,
      // Safe cast: `exact` is the checked body, except that its numbers are as the client wrote them.
      chatBody(exact as ResponsesRequestBody, messages, tools),
    );
    const { unserved } = request;
    return {
      request: { ...request, unserved: unserved.map((fault) => toSentFault(fault, origins)) },
      form: { isStream: body.stream ?? false, repeated: repeatedIn(body) },
      fieldPaths: Object.fromEntries(
        Object.entries(fieldPaths).map(([field, place]) => [
          field,
          field === "prompt.messages" ? place : toSentPath(place, origins),
        ]),
      ),
      origins,
      notices: [...noticesOf(body), ...notices],
      ignored,
    };
  } catch (error) {
    throw toSentError(error, origins);
  }
}

/** Refuses lists beyond their limits before any code iterates over their items. */
function refuseLongLists(body: unknown, { chatMessages, chatTools }: ChatLimits): void {
  if (!isObject(body)) return;
  const faults = [
    ...longList(["input"], body["input"], chatMessages),
    ...longList(["tools"], body["tools"], chatTools),
  ];
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
}

/** Refuses a tool choice that requires a call if the model sees no tool. */
function refuseUnfulfillableChoice(
  { tools, tool_choice: choice }: ResponsesRequestBody,
  shown: readonly object[],
): void {
  const mode =
    typeof choice === "object" && choice?.type === "allowed_tools" ? (choice.mode ?? "auto") : choice;
  const isForced = mode === "required" || typeof mode === "object";
  if (mode === null || !isForced || shown.length > 0 || (tools ?? []).length === 0) return;
  const message =
    "tool_choice asks for a call, and this server runs none of the tools itself; send a function or a custom tool.";
  throw new ServiceError({
    code: "unsupported",
    faults: [{ location: ["body", "tools"], message, type: "unsupported" }],
  });
}

/** Returns notices about parts of the request without effect, since the client may rely on these parts. */
function noticesOf({ tools, store, include }: ResponsesRequestBody): readonly string[] {
  const left = [...new Set((tools ?? []).map(({ type }) => type).filter((type) => !isShownType(type)))];
  const unknown = unknownIncludes(include ?? []);
  const named = (names: readonly string[]): string => cut(names.join(", "));
  return [
    ...(left.length > 0 ? [`tools that this server does not run are left out: ${named(left)}`] : []),
    ...(store === true ? ["a response cannot be retrieved later: store is answered as false"] : []),
    ...(unknown.length > 0 ? [`include has unknown values: ${named(unknown)}`] : []),
  ];
}

function repeatedIn(body: ResponsesRequestBody): RepeatedFields {
  const { tools, text, reasoning } = body;
  return {
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens === -1 ? null : (body.max_output_tokens ?? null),
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls !== false,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    temperature: numberOrNull(body.temperature),
    text: { format: text?.format ?? { type: "text" }, verbosity: text?.verbosity ?? "medium" },
    tool_choice: body.tool_choice ?? "auto",
    tools: (tools ?? []).map((tool) => ({ description: null, parameters: null, strict: false, ...tool })),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: numberOrNull(body.top_p),
    truncation: body.truncation ?? "disabled",
    user: typeof body.user === "string" ? body.user : null,
  };
}

function numberOrNull(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
