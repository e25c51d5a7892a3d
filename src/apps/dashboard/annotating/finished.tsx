// The end of a queue for an annotator: the number of items that the annotator has done, links to the items, and a link to
// the form of a rule that trains on the answers.
import type { AnnotationQueue } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { counted } from "../components/numbers.ts";
import { addressOf, place } from "../router.ts";
import { newRuleAddress } from "../rules/rule-link.ts";
import { suggestedRewards } from "../rules/rule-terms.ts";
import { useLoaded } from "../use-loaded.ts";

/** Number of items that the annotator has done in earlier sessions of a queue. */
export function EarlierCount({
  hone,
  queue: { id, project_id },
  annotator,
}: {
  readonly hone: Hone;
  readonly queue: AnnotationQueue;
  readonly annotator: string;
}) {
  const { value } = useLoaded(
    (signal) => hone.queues.stats({ project_id, queue_ids: [id] }, { signal }),
    [hone, id, project_id],
  );
  const own = value?.[0]?.annotators.find((one) => one.annotator === annotator);
  if (own === undefined) return null;
  const done = own.completed + own.skipped;
  return (
    <>
      {counted(done, "item")} done
      {own.skipped > 0 && `, ${own.skipped} skipped`}
    </>
  );
}

export function Finished({ queue: { id, project_id: project, asked } }: { readonly queue: AnnotationQueue }) {
  const as = place.value.query.get("as") ?? "";
  const question = asked.find(({ kind }) => kind !== "text" && kind !== "json");
  return (
    <nav class="links" aria-label="Next steps">
      <a href={addressOf("queues", [id, "items"], { project, as })}>Items and answers</a>
      <a href={addressOf("queues", [id, "items"], { project, as, review: "1" })}>
        Review everybody's answers
      </a>
      {question !== undefined && (
        <a href={newRuleAddress(project, question.name, suggestedRewards(question))}>
          Train on the answers with a reward rule
        </a>
      )}
    </nav>
  );
}
