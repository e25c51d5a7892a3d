// Agreement of a queue's annotators on each question; nothing before two people have answered the same item.
import type { AnnotationQueue, QuestionAgreement } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { useLoaded } from "../use-loaded.ts";

export function Agreement({
  hone,
  queue: { id, project_id },
}: {
  readonly hone: Hone;
  readonly queue: Pick<AnnotationQueue, "id" | "project_id">;
}) {
  const { value } = useLoaded(
    (signal) => hone.queues.agreement({ project_id, queue_id: id }, { signal }),
    [hone, id],
  );
  const rows = (value ?? []).filter(({ percent_agreement: percent }) => percent !== null);
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby="agreement">
      <h2 id="agreement">Agreement</h2>
      <ul class="bare">
        {rows.map((row) => (
          <li key={row.question}>
            <strong>{row.question}</strong> {agreementText(row)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function agreementText({ percent_agreement: percent, kappa, statistic, reason }: QuestionAgreement): string {
  const name = statistic === "cohen" ? "Cohen's" : "Fleiss'";
  return `${(percent ?? 0).toFixed(0)} %, ${kappa === null ? (reason ?? "") : `${name} kappa ${kappa.toFixed(3)}`}`;
}
