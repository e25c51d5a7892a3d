// Writes the chunks of a streamed answer, in this order: a chunk that opens each choice, echoed text, deltas, a chunk
// with an empty delta that ends each choice, and the usage if the request asks for it.
import type { ChatDelta, ChatHeader, ChatRequest, ChatUsage } from "../../../base/domain/chat.ts";
import { logprobsBody } from "./chat-logprobs.ts";
import { callBody, finishBody, spellsIds, usageBody } from "./chat-response.ts";
import type { ChatAnswerForm } from "./read-chat-request.ts";

/** Returns a writer of the chunks of one stream. For each step, its `add` takes the step's deltas. */
export function chatChunks(
  { identity: { requestId } }: ChatRequest,
  form: ChatAnswerForm,
  header: ChatHeader,
) {
  const common = {
    id: `chatcmpl-${requestId}`,
    request_id: requestId,
    object: "chat.completion.chunk",
    created: Math.floor(header.createdAt.getTime() / 1000),
    model: header.model,
    service_tier: "default",
    system_fingerprint: header.fingerprint,
  };
  const { top, inChoices } = header.tokenIds;
  const showsTokens = top || inChoices || header.logprobs !== "off" || form.usageInEveryChunk;
  const usageOf = (usage: ChatUsage, tokens: number): object =>
    form.usageInEveryChunk ? { usage: usageBody(usage, tokens) } : {};
  const opening = (usage: object): readonly object[] => {
    const prompt = { prompt_token_ids: top ? header.promptTokenIds : null };
    return [
      ...openings(header).map((choice) => ({ ...common, choices: [choice], ...prompt, ...usage })),
      ...echoes(header).map((choice) => ({ ...common, choices: [choice], ...usage })),
    ];
  };
  const chunksOf = (delta: ChatDelta): readonly object[] =>
    withoutText(delta).map((part) => ({
      ...common,
      choices: [deltaBody(part, header, form)],
      ...usageOf(part.usage, part.choiceTokens),
    }));
  let isOpen = false;
  return {
    add: (deltas: readonly ChatDelta[]): readonly object[] => {
      const shown = deltas.filter((delta) => hasContent(delta) || (showsTokens && delta.tokenIds.length > 0));
      const chunks = shown.flatMap(chunksOf);
      if (isOpen) return chunks;
      isOpen = true;
      // The opening chunks are sent only with the first deltas, because only these report how many prompt tokens came
      // from the cache.
      return [...opening(usageOf(deltas[0].usage, 0)), ...chunks];
    },
    end: (usage: ChatUsage): readonly object[] =>
      form.includesUsage ? [{ ...common, choices: [], usage: usageBody(usage) }] : [],
  };
}

/**
 * Returns the chunks that open all choices. They are sent before any text, so that a client knows the number of
 * choices.
 */
function openings(header: ChatHeader): readonly object[] {
  const prompt = header.tokenIds.inChoices ? { prompt_token_ids: header.promptTokenIds } : {};
  return chunkPerChoice(header, { role: header.role, content: "" }).map((choice) => ({
    ...choice,
    ...prompt,
  }));
}

function echoes(header: ChatHeader): readonly object[] {
  return header.echo === "" ? [] : chunkPerChoice(header, { content: header.echo });
}

/** Returns one chunk for each choice. All have the same delta, which belongs to no token. */
function chunkPerChoice({ choiceCount }: ChatHeader, delta: object): readonly object[] {
  return Array.from({ length: choiceCount }, (_, index) => ({
    index,
    delta: { ...delta, reasoning_content: null },
    logprobs: null,
    finish_reason: null,
  }));
}

/**
 * Splits a delta that has both content and a finish reason. The content is sent first, because some clients ignore
 * content in the chunk with the finish reason.
 */
function withoutText(delta: ChatDelta): readonly ChatDelta[] {
  if (delta.finish === null || !hasContent({ ...delta, finish: null })) return [delta];
  return [
    { ...delta, finish: null },
    { ...delta, text: "", reasoning: "", toolCalls: [], tokenIds: [], logprobs: [] },
  ];
}

/**
 * True if a delta has content or a finish reason. Token ids without text do not count as content, because the text of a
 * token may be empty, or held back until later tokens arrive.
 */
function hasContent({ text, reasoning, toolCalls, finish }: ChatDelta): boolean {
  return text !== "" || reasoning !== "" || toolCalls.length > 0 || finish !== null;
}

/**
 * Returns the delta's text; null if it is empty and the delta has thoughts or tool calls. Some clients treat any text,
 * even an empty one, as part of the answer.
 */
function contentOf({ text, reasoning, toolCalls }: ChatDelta): string | null {
  return text === "" && (reasoning !== "" || toolCalls.length > 0) ? null : text;
}

function deltaBody(event: ChatDelta, header: ChatHeader, form: ChatAnswerForm): object {
  const hasLogprobs = header.logprobs !== "off" && event.logprobs.length > 0;
  const showsIds = header.tokenIds.top || header.tokenIds.inChoices;
  // A chunk with a finish reason but without tokens has neither ids nor log-probabilities.
  const hasIds = showsIds && (event.finish === null || event.tokenIds.length > 0);
  return {
    index: event.choice,
    delta:
      event.finish === null
        ? { content: contentOf(event), ...reasoningBody(event), ...callsBody(event) }
        : {},
    logprobs: hasLogprobs ? logprobsBody(event.logprobs, spellsIds(header, form)) : null,
    ...(event.finish === null ? { finish_reason: null } : finishBody(event.finish)),
    token_ids: hasIds ? event.tokenIds : null,
  };
}

/** Returns the thoughts under two names, because each client reads only one of them. */
function reasoningBody({ reasoning }: ChatDelta): object {
  return reasoning === "" ? { reasoning_content: null } : { reasoning, reasoning_content: reasoning };
}

function callsBody({ toolCalls }: ChatDelta): object {
  return toolCalls.length === 0
    ? {}
    : { tool_calls: toolCalls.map((call) => ({ index: call.index, ...callBody(call) })) };
}
