// Shows which words of a text differ from another text.
import { diffWordsWithSpace } from "diff";

/** Maximum number of differing words. Comparing texts that differ more would take long, and show little. */
const changesMax = 2000;

/** Shows the newer text with the words that it has lost (struck through) and gained (underlined). */
export function WordDiff({ before, after }: { readonly before: string; readonly after: string }) {
  const parts = diffWordsWithSpace(before, after, { maxEditLength: changesMax });
  if (parts === undefined)
    return (
      <div class="said" dir="auto">
        {after}
      </div>
    );
  return (
    <div class="said word-diff" dir="auto">
      {parts.map(({ value, added, removed }, index) =>
        added ? (
          <ins key={index}>{value}</ins>
        ) : removed ? (
          <del key={index}>{value}</del>
        ) : (
          <span key={index}>{value}</span>
        ),
      )}
    </div>
  );
}
