// Finds the content of an item to show to annotators: the conversation, if the item is a chat completion that this
// server recorded.
import { joinedText } from "../../base/domain/content-part.ts";
import { readCallReference } from "../../base/domain/recordings/call-reference.ts";
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import type { CompletionContent, RecordedPrompt } from "../../base/domain/recordings/recorded-completion.ts";

export interface ItemContent {
  /** Messages of the prompt, oldest first. */
  readonly messages: readonly { readonly role: string; readonly text: string }[];
  /** Answers to show. If the item refers to one choice of a completion, only that choice; otherwise all choices. */
  readonly answers: readonly ShownAnswer[];
}

export interface ShownAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly argumentsText: string }[];
}

/** Beginnings of the prompt and of the answer to judge, for lists of items. */
export interface ItemBeginnings {
  readonly prompt: string;
  readonly answer: string;
}

/** Finds the content of an item in a project by the item's reference. Returns null if this server does not store it. */
export type FindContent = (projectId: string, reference: string) => Promise<ItemContent | null>;

export function contentIn(store: Pick<CompletionStore, "find">): FindContent {
  return async (projectId, reference) => {
    const part = readCallReference(reference);
    if (part === null || part.projectId !== projectId) return null;
    const content = (await store.find(part))?.content ?? null;
    return content === null ? null : shownContent(content, part.choice);
  };
}

/** Maximum number of recorded completions in one lookup. */
const keysMax = 100;
/** Maximum length in characters of the beginning of an answer that is not the first choice. */
const beginningMax = 200;

/** Returns the beginnings for those references that name completions which this server recorded in the project. */
export async function findBeginnings(
  store: Pick<CompletionStore, "find" | "findOutlines">,
  projectId: string,
  references: readonly string[],
): Promise<ReadonlyMap<string, ItemBeginnings>> {
  const parts = references.flatMap((reference) => {
    const part = readCallReference(reference);
    return part?.projectId === projectId ? [{ ...part, reference }] : [];
  });
  const found = new Map<string, ItemBeginnings>();
  for (let start = 0; start < parts.length; start += keysMax) {
    const some = parts.slice(start, start + keysMax);
    const outlines = await store.findOutlines(some.map(({ requestId }) => ({ projectId, requestId })));
    const byId = new Map(outlines.map((outline) => [outline.requestId, outline]));
    for (const { reference, requestId, choice } of some) {
      const outline = byId.get(requestId);
      if (outline === undefined) continue;
      const { promptText: prompt, answerText } = outline;
      // An outline has only the first choice's text, so the text of another choice is in the whole completion.
      const chosen = choice === null || choice === 0 ? null : await store.find(outline);
      const answer = chosen?.content?.choices[choice ?? 0]?.text.slice(0, beginningMax) ?? answerText;
      found.set(reference, { prompt, answer });
    }
  }
  return found;
}

function shownContent({ prompt, choices }: CompletionContent, choice: number | null): ItemContent {
  const shown = choice === null ? choices : choices.slice(choice, choice + 1);
  return {
    messages: messagesOf(prompt),
    answers: shown.map(({ text, reasoning, toolCalls }) => ({
      text,
      reasoning,
      calls: toolCalls.map(({ name, argumentsText }) => ({ name, argumentsText })),
    })),
  };
}

function messagesOf(prompt: RecordedPrompt): ItemContent["messages"] {
  switch (prompt.kind) {
    case "conversation":
      return prompt.messages.map(({ role, content, ...rest }) => ({
        role,
        // A message with only tool calls has no text, so annotators see its JSON.
        text: joinedText(content ?? null) ?? JSON.stringify({ content, ...rest }),
      }));
    case "text":
      return [{ role: "prompt", text: prompt.text }];
    default:
      return [];
  }
}
