// Content of an item for annotators: the conversation, if the call is a chat completion recorded here.
import { joinedText } from "../../base/domain/content-part.ts";
import { readCallReference } from "../../base/domain/recordings/call-reference.ts";
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import type { CompletionContent, RecordedPrompt } from "../../base/domain/recordings/recorded-completion.ts";

export interface ItemContent {
  /** The prompt, oldest message first. */
  readonly messages: readonly { readonly role: string; readonly text: string }[];
  /** The choice that the item names, or all choices. */
  readonly answers: readonly ShownAnswer[];
}

export interface ShownAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly argumentsText: string }[];
}

/** Finds the content behind a reference in a project; null if this server stores none. */
export type FindContent = (projectId: string, reference: string) => Promise<ItemContent | null>;

export function contentIn(store: Pick<CompletionStore, "find">): FindContent {
  return async (projectId, reference) => {
    const part = readCallReference(reference);
    if (part === null || part.projectId !== projectId) return null;
    const content = (await store.find(part))?.content ?? null;
    return content === null ? null : shownContent(content, part.choice);
  };
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
        // A turn with only tool calls has no text; annotators still see its JSON.
        text: joinedText(content ?? null) ?? JSON.stringify({ content, ...rest }),
      }));
    case "text":
      return [{ role: "prompt", text: prompt.text }];
    default:
      return [];
  }
}
