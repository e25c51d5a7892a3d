// Converts a parsed body to the domain's requests: it builds the equivalent chat request and reads that, so that each
// field means the same. Faults are located where the client sent them.
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

/** Common data of a request that was read. */
interface ReadParts {
  /** Paths of its fields in the body; for messages, the paths in the chat request. */
  readonly fieldPaths: FieldPaths;
  /** Origins of messages and tools, which locate their faults in the body. */
  readonly origins: SentOrigins;
  /** Notices for the client about how the request was read, as sentences. */
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
 * @param exact the body with exact numbers
 * @throws ServiceError `invalid` and `unsupported` as `readForm` does, and `invalid` as `readChatRequest` does
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
 * Reads the prompt whose tokens are counted.
 *
 * @throws ServiceError as {@link readMessagesRequest}
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
  // Safe cast: it differs from the body only in the digits of numbers, which a call's arguments keep.
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
 * Makes the budget optional: clients send it without knowing the model, and a model without thinking marks needs none.
 * A chat's own `thinking_token_budget` would be refused for such a model.
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

/** Checked before anything iterates the blocks. */
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

/** Refuses a required call if no tool can be called. */
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

/** Returns notices for parts of the request without effect, which the sender may rely on. */
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
