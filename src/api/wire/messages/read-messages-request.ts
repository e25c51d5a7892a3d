// Converts a parsed body of the Messages API to the domain's requests. Builds the equivalent chat request and reads
// that one, so that equal fields have equal effects. Faults have the path at which the client sent the field.
import type { ChatRequest, TokenizeRequest } from "../../../base/domain/chat.ts";
import { assert } from "../../../base/domain/assert.ts";
import { cut, ServiceError } from "../../../base/domain/service-error.ts";
import { isObject } from "../../../base/validation/findings.ts";
import { readForm } from "../body.ts";
import { longList, type ChatLimits } from "../chat/chat-limits.ts";
import { freshRequestId, type RequestId, readChatRequest } from "../chat/read-chat-request.ts";
import type { FieldPaths } from "../field-paths.ts";
import { chatBody, type MessageBody } from "./chat-body.ts";
import { inputMessages } from "./input-messages.ts";
import { countForm, isShownTool, messagesForm } from "./messages-fields.ts";
import { toSentError, toSentPath, type SentOrigins } from "./sent-paths.ts";

/** Data that requests for a message and requests to count tokens share. */
interface ReadParts {
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

export interface ReadMessagesRequest extends ReadParts {
  readonly request: ChatRequest;
  readonly isStream: boolean;
}

export interface ReadCountRequest extends ReadParts {
  readonly request: TokenizeRequest;
}

/**
 * Checks a body and converts it to a request for a message.
 *
 * @param exact the same body, with numbers as the client wrote them
 * @throws ServiceError `invalid` and `unsupported` like {@link readForm}, and `invalid` like {@link readChatRequest}
 */
export function readMessagesRequest(
  value: unknown,
  limits: ChatLimits,
  requestId = freshRequestId(),
  exact = value,
): ReadMessagesRequest {
  refuseLongLists(value, limits);
  const { value: body, ignored } = readForm(messagesForm, value);
  const read = readAsChat(body, { limits, requestId, exact });
  return { ...read, ignored, isStream: body.stream ?? false };
}

/**
 * Reads a request to count the tokens of a prompt.
 *
 * @throws ServiceError like {@link readMessagesRequest}
 */
export function readCountRequest(value: unknown, limits: ChatLimits): ReadCountRequest {
  refuseLongLists(value, limits);
  const { value: body, ignored } = readForm(countForm, value);
  const { request, ...read } = readAsChat(body, { limits, requestId: freshRequestId(), exact: value });
  const { identity, prompt, unserved } = request;
  if (unserved.length > 0) throw new ServiceError({ code: "unsupported", faults: unserved });
  assert(prompt.kind === "conversation", "messages are a conversation");
  return {
    ...read,
    ignored,
    request: { model: identity.model, prompt, wantsTexts: false },
  };
}

function readAsChat(
  body: MessageBody,
  {
    limits,
    requestId,
    exact,
  }: { readonly limits: ChatLimits; readonly requestId: RequestId; readonly exact: unknown },
): Omit<ReadParts, "ignored"> & { readonly request: ChatRequest } {
  // Safe cast: `exact` is the checked body, except that its numbers are as the client wrote them. Arguments of tool
  // calls keep this notation.
  const exactBody = exact as MessageBody;
  const messages = inputMessages(exactBody);
  const shown = (body.tools ?? []).flatMap((tool, index) =>
    isShownTool(tool.type) ? [{ tool, index }] : [],
  );
  const tools = shown.map(({ tool }) => tool);
  refuseUnfulfillableChoice(body, tools);
  const origins = {
    messages: messages.map(({ origin }) => origin),
    tools: shown.map(({ index }) => index),
    format: (body.output_config?.format ?? null) === null ? ["output_format"] : ["output_config", "format"],
  };
  try {
    const { request, fieldPaths, notices } = readChatRequest(
      chatBody(body, messages, tools),
      limits,
      requestId,
      chatBody(exactBody, messages, tools),
    );
    return {
      request: {
        ...withOptionalBudget(request, body),
        unserved: request.unserved.map((fault) => ({
          ...fault,
          location: toSentPath(fault.location, origins),
        })),
      },
      fieldPaths: Object.fromEntries(
        Object.entries(fieldPaths).map(([field, place]) => [
          field,
          field === "prompt.messages" ? place : toSentPath(place, origins),
        ]),
      ),
      origins,
      notices: [...noticesOf(body), ...notices],
    };
  } catch (error) {
    throw toSentError(error, origins);
  }
}

/**
 * Makes the thinking budget optional. A required `thinking_token_budget` would be refused for a model without thinking
 * marks. Clients of the Messages API do not know the model and send a budget anyway.
 */
function withOptionalBudget(request: ChatRequest, { thinking }: MessageBody): ChatRequest {
  const { processors } = request.sampling;
  if (processors === null || thinking?.type !== "enabled") return request;
  const budget = processors.at(-1);
  assert(budget !== undefined, "a budget is the last processor");
  const lenient = { ...budget, kwargs: { ...budget.kwargs, optional: true } };
  return {
    ...request,
    sampling: { ...request.sampling, processors: [...processors.slice(0, -1), lenient] },
  };
}

/** Refuses lists beyond their limits before any code iterates over their blocks. */
function refuseLongLists(body: unknown, { chatMessages, chatParts, chatTools }: ChatLimits): void {
  if (!isObject(body)) return;
  const { messages, system, tools } = body;
  const faults = [
    ...longList(["messages"], messages, chatMessages),
    ...longList(["system"], system, chatParts),
    ...longList(["tools"], tools, chatTools),
  ];
  if (faults.length === 0 && Array.isArray(messages)) {
    messages.forEach((message: unknown, index) => {
      if (isObject(message))
        faults.push(...longList(["messages", String(index), "content"], message["content"], chatParts));
    });
  }
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
}

/** Refuses a tool choice that requires a call if the model sees no tool. */
function refuseUnfulfillableChoice(
  { tools, tool_choice: choice }: MessageBody,
  shown: readonly object[],
): void {
  const isForced = choice?.type === "any" || choice?.type === "tool";
  if (!isForced || shown.length > 0) return;
  const message =
    (tools ?? []).length === 0
      ? "tool_choice asks for a call, and there are no tools; send some, or leave it out."
      : "tool_choice asks for a call, and this server runs none of the tools itself; send tools of the type custom.";
  throw new ServiceError({
    code: "unsupported",
    faults: [{ location: ["body", "tools"], message, type: "unsupported" }],
  });
}

/** Returns notices about parts of the request without effect, since the client may rely on these parts. */
function noticesOf({ tools, context_management: management }: MessageBody): readonly string[] {
  const left = [...new Set((tools ?? []).map(({ type }) => type).filter((type) => !isShownTool(type)))];
  const edits = isObject(management) ? management["edits"] : null;
  return [
    ...(left.length > 0 ? [`tools that this server does not run are left out: ${cut(left.join(", "))}`] : []),
    ...(Array.isArray(edits) && edits.length > 0
      ? ["context_management is not applied: the conversation is used as it was sent"]
      : []),
  ];
}
