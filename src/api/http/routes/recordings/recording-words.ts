// Searches recorded completions for words in their prompts and answers.
import type { Clock } from "../../../../base/domain/clock.ts";
import type { NumberedPage, NumberedPageRequest } from "../../../../base/domain/page.ts";
import type {
  CompletionStore,
  ListedCompletion,
  StoredCompletion,
} from "../../../../base/domain/recordings/completion-store.ts";
import { containWords } from "../../../../base/domain/text/searched-words.ts";
import type { JsonObject } from "../../../../base/domain/text/json.ts";
import { searchPage } from "../../rows/word-search.ts";

/** Returns a page of those completions in the list that contain all the words. */
export function completionsWith(
  words: readonly string[],
  completions: CompletionStore,
  list: (page: NumberedPageRequest) => Promise<NumberedPage<ListedCompletion>>,
  page: NumberedPageRequest,
  turn: { readonly entity: string; readonly clock: Clock },
): Promise<NumberedPage<ListedCompletion>> {
  return searchPage(
    {
      list,
      candidates: (items, limits) => completions.findWords(items, words, limits),
      contains: async (item) => {
        const stored = await completions.find(item);
        return stored !== null && containWords(messagesOf(stored), words);
      },
    },
    page,
    turn,
  );
}

/** Returns the prompt and the answers of a completion as messages; none if its content was too large to be stored. */
function messagesOf({ content }: StoredCompletion): readonly JsonObject[] {
  if (content === null) return [];
  const { prompt, choices } = content;
  const sent = prompt.kind === "conversation" ? prompt.messages : [];
  const text = prompt.kind === "text" ? [{ text: prompt.text }] : [];
  const answers = choices.map(({ text: content, reasoning, toolCalls }) => ({
    content,
    reasoning,
    calls: toolCalls.map(({ name, argumentsText }) => ({ name, argumentsText })),
  }));
  return [...sent, ...text, ...answers];
}
