// Query field `text`, which searches the messages of stored chats and trajectories.
import { Type } from "typebox";
import type { Fault } from "../../../base/domain/service-error.ts";
import { searchLengthMax, searchWordsMax, wordsIn } from "../../../base/domain/text/searched-words.ts";

/** Returns the field's schema. @param items plural noun of the listed items */
export function textField(items: string) {
  return Type.String({
    maxLength: searchLengthMax,
    description: `Only ${items} whose messages contain all these words (at most ${searchWordsMax}), in upper or lower case, and also as parts of longer words. Names of tools and their arguments count as messages.`,
    examples: ["refund order"],
  });
}

/** Sentence for the answer of a list that can be searched. */
export const searchNote =
  "With `text`, a request searches for about two seconds: while `has_more` is true, continue with `last_id` as `after`, even after an empty page.";

/** Returns the words of the field; empty without the field. Adds a fault if there are none, or too many. */
export function readWords({ text }: { readonly text?: string }, faults: Fault[]): readonly string[] {
  if (text === undefined) return [];
  const words = wordsIn(text);
  if (words.length >= 1 && words.length <= searchWordsMax) return words;
  const problem =
    words.length === 0
      ? "text has no words; leave it out to list everything"
      : `text has ${words.length} words; at most ${searchWordsMax} are searched`;
  faults.push({ location: ["query", "text"], message: problem, type: "value_error" });
  return words;
}
