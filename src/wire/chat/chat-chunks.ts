// The chunks of a streamed answer, in order: one that opens every choice, deltas, the finish with the last delta of
// each choice, and the usage where it was asked for.
import type { ChatDelta, ChatEvent, ChatHeader, ChatRequest, ChatUsage } from "../../domain/chat.ts";
import { choiceCountOf } from "../../domain/generation.ts";
import { logprobsBody } from "./chat-logprobs.ts";
import { callBody, finishBody, spellsIds, usageBody } from "./chat-response.ts";
import type { ChatAnswerForm } from "./read-chat-request.ts";

/** Turns events into the chunks they become; throws whatever the events throw. */
export async function* chatChunks(
  request: ChatRequest,
  form: ChatAnswerForm,
  header: ChatHeader,
  events: AsyncIterable<ChatEvent>,
): AsyncGenerator<object> {
  const chunk = (choices: readonly object[], rest: object = {}): object => ({
    id: `chatcmpl-${request.identity.requestId}`,
    object: "chat.completion.chunk",
    created: Math.floor(header.createdAt.getTime() / 1000),
    model: header.model,
    system_fingerprint: header.fingerprint,
    choices,
    ...rest,
  });
  // The opening waits for the first event after the header, since that one knows what was cached.
  let isOpen = false;
  for await (const event of events) {
    if (event.kind === "header") continue;
    if (!isOpen) yield chunk(openings(request, header), openingRest(header, form, event.usage));
    isOpen = true;
    if (event.kind === "usage") {
      if (form.includesUsage) yield chunk([], { usage: usageBody(event.usage) });
    } else if (saysSomething(event)) {
      const usage = form.usageInEveryChunk ? { usage: usageBody(event.usage, event.choiceTokens) } : {};
      yield chunk([deltaBody(event, header, form)], usage);
    }
  }
}

/** All choices in the first chunk: a client must know how many there are before the first text. */
function openings(request: ChatRequest, header: ChatHeader): readonly object[] {
  return Array.from({ length: choiceCountOf(request.output) }, (_, index) => ({
    index,
    delta: { role: header.role, content: "", reasoning_content: null },
    logprobs: null,
    finish_reason: null,
    ...(header.tokenIds.inChoices ? { prompt_token_ids: header.promptTokenIds } : {}),
  }));
}

function openingRest(header: ChatHeader, form: ChatAnswerForm, usage: ChatUsage): object {
  return {
    prompt_token_ids: header.tokenIds.top ? header.promptTokenIds : null,
    ...(form.usageInEveryChunk ? { usage: usageBody(usage, 0) } : {}),
  };
}

function saysSomething({ text, reasoning, toolCalls, tokenIds, finish }: ChatDelta): boolean {
  return text !== "" || reasoning !== "" || toolCalls.length > 0 || tokenIds.length > 0 || finish !== null;
}

function deltaBody(event: ChatDelta, header: ChatHeader, form: ChatAnswerForm): object {
  const hasLogprobs = header.logprobs !== "off" && event.logprobs.length > 0;
  return {
    index: event.choice,
    delta: { content: event.text, ...reasoningBody(event), ...callsBody(event) },
    logprobs: hasLogprobs ? logprobsBody(event.logprobs, spellsIds(header, form)) : null,
    ...(event.finish === null ? { finish_reason: null } : finishBody(event.finish)),
    token_ids: header.tokenIds.top || header.tokenIds.inChoices ? event.tokenIds : null,
  };
}

/** Under both of its names where there is any; clients read one of them. */
function reasoningBody({ reasoning }: ChatDelta): object {
  return reasoning === "" ? { reasoning_content: null } : { reasoning, reasoning_content: reasoning };
}

function callsBody({ toolCalls }: ChatDelta): object {
  return toolCalls.length === 0
    ? {}
    : { tool_calls: toolCalls.map((call) => ({ index: call.index, ...callBody(call) })) };
}
