// The words in which answers to the same prompt differ. The user opens it, and the code that compares loads only then.
import { useState } from "preact/hooks";
import { lazyView } from "../components/lazy-view.tsx";

const WordDiff = lazyView(async () => (await import("../evaluation/word-diff.tsx")).WordDiff);

export function AnswerDiff({
  texts,
  isHidden = false,
}: {
  /** Text of each answer. All are compared with the first. */
  readonly texts: readonly string[];
  /** True while an answer still changes. */
  readonly isHidden?: boolean;
}) {
  const [isOpen, setOpen] = useState(false);
  const [first = "", ...others] = texts;
  if (others.length === 0 || isHidden) return null;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Difference in words</summary>
      {isOpen &&
        others.map((text, index) => (
          <section key={index} aria-label={`Answer ${index + 2} compared with answer 1`}>
            {others.length > 1 && <h4>Answer {index + 2} compared with answer 1</h4>}
            {text === first ? <p>The answers are equal.</p> : <WordDiff before={first} after={text} />}
          </section>
        ))}
    </details>
  );
}
