// Links of a queue without items left: to its items, and to the form of a rule that trains on the answers.
import type { AnnotationQueue } from "../../client/api.ts";
import { addressOf, place } from "../router.ts";
import { newRuleAddress } from "../rules/rule-link.ts";
import { suggestedRewards } from "../rules/rule-terms.ts";

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
