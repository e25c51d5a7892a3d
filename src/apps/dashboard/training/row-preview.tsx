// Shows the first rows of a file of training data. Texts that the job trains on are marked.
import { type FileKind, shownMessages, type TrainingRow } from "./training-rows.ts";

const previewCount = 3;

export function RowPreview({
  rows,
  kind,
}: {
  readonly rows: readonly TrainingRow[];
  readonly kind: FileKind;
}) {
  return (
    <section aria-labelledby="rows">
      <h2 id="rows">First rows</h2>
      <p class="muted">The job trains on the marked texts.</p>
      {rows.slice(0, previewCount).map((row, index) => (
        <article key={index} class="turn" aria-label={`Row ${index + 1}`}>
          {shownMessages(row, kind).map(({ role, text, isTrained }, place) => (
            <p key={place}>
              <strong>{role}</strong>{" "}
              <span class="said" dir="auto">
                {isTrained ? <mark>{text}</mark> : text}
              </span>
            </p>
          ))}
        </article>
      ))}
    </section>
  );
}
