// Several answers to the same prompt, side by side as alternatives of one turn.
import type { ComponentChildren } from "preact";

export function Alternatives<Answer>({
  answers,
  title,
  nameOf,
  children,
}: {
  readonly answers: readonly Answer[];
  /** Title of the turn. */
  readonly title: ComponentChildren;
  /** Returns a remark on an answer, such as how it ended. */
  readonly nameOf?: (answer: Answer) => string | null;
  /** Returns the content of an answer. */
  readonly children: (answer: Answer, index: number) => ComponentChildren;
}) {
  return (
    <article class="turn reply" tabIndex={-1} data-row aria-label={`${answers.length} alternative answers`}>
      <header>
        <h3>{title}</h3>
        <span class="muted">{answers.length} alternative answers</span>
      </header>
      <div class="alternatives">
        {answers.map((answer, index) => (
          <section key={index} class="answer-card" aria-label={`Answer ${index + 1}`}>
            <header>
              <h4>Answer {index + 1}</h4>
              <span class="muted">{nameOf?.(answer)}</span>
            </header>
            {children(answer, index)}
          </section>
        ))}
      </div>
    </article>
  );
}
