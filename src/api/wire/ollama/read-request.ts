// Converts parsed bodies of Ollama's `/api/chat` and `/api/generate` to the domain's request. Builds the equivalent
// chat request or text completion and reads that one, so that equal fields have equal effects.
import type { ChatRequest } from "../../../base/domain/chat.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isObject } from "../../../base/validation/findings.ts";
import { readForm } from "../body.ts";
import { longList, type ChatLimits } from "../chat/chat-limits.ts";
import { freshRequestId, type RequestId, readChatRequest } from "../chat/read-chat-request.ts";
import { type CompletionLimits, readCompletion } from "../completions/read-completion.ts";
import type { FieldPaths } from "../field-paths.ts";
import { chatBodyOf, isEmptyText, loadingBodyOf, promptedBodyOf, rawBodyOf } from "./chat-body.ts";
import { type ChatBody, chatForm } from "./chat-request.ts";
import { type GenerateBody, generateForm } from "./generate-request.ts";
import { optionNotices } from "./options.ts";
import { type SentMessages, toSentError, toSentPath } from "./sent-paths.ts";

/** Form of the answer that the request asks for. */
export interface OllamaForm {
  /** Route of the request. The text of an answer is in a different member on each route. */
  readonly kind: "chat" | "generate";
  readonly isStream: boolean;
  /** True if the request only loads the model. The answer then has no text. */
  readonly isLoading: boolean;
}

export interface ReadOllama {
  readonly request: ChatRequest;
  readonly form: OllamaForm;
  readonly fieldPaths: FieldPaths;
  /** For the messages of the chat request, the paths at which the client sent them. */
  readonly sentMessages: SentMessages;
  readonly ignored: readonly string[];
  readonly notices: readonly string[];
}

type Limits = CompletionLimits;

/**
 * Reads a body of `/api/chat`.
 *
 * @param exact the same body, with numbers as the client wrote them
 * @throws ServiceError `invalid` and `unsupported` with every fault
 */
export function readOllamaChat(
  value: unknown,
  limits: Limits,
  requestId = freshRequestId(),
  exact = value,
): ReadOllama {
  refuseLongLists(value, limits);
  const { value: body, ignored } = readForm(chatForm, value);
  const isLoading = (body.messages ?? []).length === 0;
  refuseUnloading(body, isLoading);
  // Safe cast: `exact` is the checked body, except that its numbers are as the client wrote them. Arguments of tool
  // calls keep this notation.
  const exactBody = { ...(exact as ChatBody), options: body.options };
  const built = isLoading
    ? readText(loadingBodyOf(body), limits, requestId)
    : readConversation(chatBodyOf({ ...body, messages: exactBody.messages }), chatBodyOf(exactBody), {
        limits,
        requestId,
        sentMessages: [],
      });
  return finish({ kind: "chat", isStream: body.stream ?? true, isLoading }, built, { body, ignored });
}

/** Reads a body of `/api/generate`. Has the same parameters and errors as {@link readOllamaChat}. */
export function readOllamaGenerate(
  value: unknown,
  limits: Limits,
  requestId = freshRequestId(),
  exact = value,
): ReadOllama {
  const { value: body, ignored } = readForm(generateForm, value);
  const isLoading = isEmptyText(body.prompt);
  refuseUnloading(body, isLoading);
  // Safe cast: as in `readOllamaChat`.
  const exactBody = { ...(exact as GenerateBody), options: body.options };
  const sentMessages = [...(isEmptyText(body.system) ? [] : [["system"]]), ["prompt"]];
  const built = isLoading
    ? readText(loadingBodyOf(body), limits, requestId)
    : body.raw === true
      ? readText(rawBodyOf(body), limits, requestId, rawBodyOf(exactBody))
      : readConversation(promptedBodyOf(body), promptedBodyOf(exactBody), {
          limits,
          requestId,
          sentMessages,
        });
  return finish({ kind: "generate", isStream: body.stream ?? true, isLoading }, built, { body, ignored });
}

type Built = Pick<ReadOllama, "request" | "fieldPaths" | "notices" | "sentMessages">;

function readConversation(
  body: object,
  exact: object,
  {
    limits,
    requestId,
    sentMessages,
  }: { readonly limits: Limits; readonly requestId: RequestId; readonly sentMessages: SentMessages },
): Built {
  try {
    return { ...readChatRequest(body, limits, requestId, exact), sentMessages };
  } catch (error) {
    throw toSentError(error, sentMessages);
  }
}

function readText(body: object, limits: Limits, requestId: RequestId, exact = body): Built {
  try {
    const { requests, fieldPaths } = readCompletion(body, limits, requestId, exact);
    return { request: requests[0], fieldPaths: fieldPaths[0], notices: [], sentMessages: [] };
  } catch (error) {
    throw toSentError(error, []);
  }
}

function finish(
  form: OllamaForm,
  { request, fieldPaths, notices, sentMessages }: Built,
  { body, ignored }: { readonly body: ChatBody | GenerateBody; readonly ignored: readonly string[] },
): ReadOllama {
  const unserved = request.unserved.map((fault) => ({
    ...fault,
    location: toSentPath(fault.location, sentMessages),
  }));
  const places = Object.entries(fieldPaths).map(
    ([field, place]) =>
      [field, field === "prompt.messages" ? place : toSentPath(place, sentMessages)] as const,
  );
  const thinks = (body.think ?? false) !== false && !form.isLoading;
  return {
    request: {
      ...request,
      unserved,
      ...(thinks ? { output: { ...request.output, requiresReasoning: true } } : {}),
    },
    form,
    fieldPaths: { ...Object.fromEntries(places), "output.requiresReasoning": ["body", "think"] },
    sentMessages,
    ignored,
    notices: [...optionNotices({ ...body.options }), ...notices],
  };
}

/** Refuses a request to unload the model, since only server settings decide this. */
function refuseUnloading({ keep_alive: time }: ChatBody | GenerateBody, isLoading: boolean): void {
  if (!isLoading || !(time === 0 || (typeof time === "string" && /^0+(\.0+)?[a-z]*$/.test(time)))) return;
  const message =
    "keep_alive asks to unload the model. Hone unloads models by itself, as its settings models.memoryBytes and models.keepAliveSeconds say; leave the request out.";
  throw new ServiceError({
    code: "unsupported",
    faults: [{ location: ["body", "keep_alive"], message, type: "unsupported" }],
  });
}

/** Refuses lists beyond their limits before any code iterates over them. */
function refuseLongLists(body: unknown, { chatMessages, chatTools }: ChatLimits): void {
  if (!isObject(body)) return;
  const { messages, tools } = body;
  const faults = [
    ...longList(["messages"], messages, chatMessages),
    ...longList(["tools"], tools, chatTools),
  ];
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
}
