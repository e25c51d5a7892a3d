// A queue without an item for the annotator. It has no items yet, and a form adds the first. Or the annotator has done
// all, and links lead to the items and to the form of a rule that trains on the answers.
import type { AnnotationQueue } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Shown } from "../components/shown.tsx";
import { addressOf, place } from "../router.ts";
import { newRuleAddress } from "../rules/rule-link.ts";
import { suggestedRewards } from "../rules/rule-terms.ts";
import { useLoaded } from "../use-loaded.ts";
import { AddAnswers } from "./add-answers.tsx";

/**
 * Takes the place of an item if the queue has none for the annotator: the first items can be added, or all are done.
 *
 * @param onAdded called after items were added
 */
export function NoItem({
  hone,
  queue,
  onAdded,
}: {
  readonly hone: Hone;
  readonly queue: AnnotationQueue;
  readonly onAdded: () => void;
}) {
  const { id, project_id } = queue;
  const loaded = useLoaded(
    async (signal) => (await hone.queues.stats({ project_id, queue_ids: [id] }, { signal }))[0],
    [hone, id, project_id],
  );
  return (
    <Shown loaded={loaded}>
      {(stats) =>
        stats?.total_items === 0 ? (
          <>
            <p>
              This queue has no items yet. Add the recorded answers of a model, or select some of the{" "}
              <a href={addressOf("conversations", [], { project: project_id })}>conversations</a> and choose{" "}
              <em>Add to queue</em>.
            </p>
            <AddAnswers hone={hone} queue={{ project_id, queue_id: id }} onAdded={onAdded} />
          </>
        ) : (
          <>
            <p>No items left.</p>
            <Finished queue={queue} />
          </>
        )
      }
    </Shown>
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
