// Chunks of a streamed answer, in order: one that opens each choice, echoed text, deltas, one with an empty delta that
// ends each choice, and the usage if requested.
import type { ChatDelta, ChatHeader, ChatRequest, ChatUsage } from "../../../base/domain/chat.ts";
import { logprobsBody } from "./chat-logprobs.ts";
import { callBody, finishBody, spellsIds, usageBody } from "./chat-response.ts";
import type { ChatAnswerForm } from "./read-chat-request.ts";

/** Returns a writer of one stream's chunks, fed with steps as they arrive. */
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
      // The opening waits for the first deltas, because they report the cached tokens.
      return [...opening(usageOf(deltas[0].usage, 0)), ...chunks];
    },
    end: (usage: ChatUsage): readonly object[] =>
      form.includesUsage ? [{ ...common, choices: [], usage: usageBody(usage) }] : [],
  };
}

/** Opens all choices before the first text, so that a client knows their number. */
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

/** Returns a chunk per choice with a delta that belongs to no token. */
function chunkPerChoice({ choiceCount }: ChatHeader, delta: object): readonly object[] {
  return Array.from({ length: choiceCount }, (_, index) => ({
    index,
    delta: { ...delta, reasoning_content: null },
    logprobs: null,
    finish_reason: null,
  }));
}

/**
 * Splits a finish from its text, thoughts and calls, which are sent first: some clients drop content in the finishing
 * chunk.
 */
function withoutText(delta: ChatDelta): readonly ChatDelta[] {
  if (delta.finish === null || !hasContent({ ...delta, finish: null })) return [delta];
  return [
    { ...delta, finish: null },
    { ...delta, text: "", reasoning: "", toolCalls: [], tokenIds: [], logprobs: [] },
  ];
}

/** True for a delta with content or a finish. Tokens without text do not count, because their text may be held back or empty. */
function hasContent({ text, reasoning, toolCalls, finish }: ChatDelta): boolean {
  return text !== "" || reasoning !== "" || toolCalls.length > 0 || finish !== null;
}

/** Null if a thought or a call has its own chunk: some clients treat any text, even an empty one, as the answer's. */
function contentOf({ text, reasoning, toolCalls }: ChatDelta): string | null {
  return text === "" && (reasoning !== "" || toolCalls.length > 0) ? null : text;
}

function deltaBody(event: ChatDelta, header: ChatHeader, form: ChatAnswerForm): object {
  const hasLogprobs = header.logprobs !== "off" && event.logprobs.length > 0;
  const showsIds = header.tokenIds.top || header.tokenIds.inChoices;
  // A finish without tokens has neither ids nor log-probabilities.
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

/** Thoughts under both of their names, if there are any; clients read one of them. */
function reasoningBody({ reasoning }: ChatDelta): object {
  return reasoning === "" ? { reasoning_content: null } : { reasoning, reasoning_content: reasoning };
}

function callsBody({ toolCalls }: ChatDelta): object {
  return toolCalls.length === 0
    ? {}
    : { tool_calls: toolCalls.map((call) => ({ index: call.index, ...callBody(call) })) };
}
