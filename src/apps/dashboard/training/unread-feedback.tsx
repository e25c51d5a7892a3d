// Explains an empty preview: the project's feedback that the chosen reward does not read, with a link to a new rule.
import type { RewardTerm } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { newRuleAddress } from "../rules/rule-link.ts";
import { useLoaded } from "../use-loaded.ts";
import { counted } from "../components/numbers.ts";
import { annotationName, unreadTypes } from "./unread-types.ts";

export function UnreadFeedback({
  hone,
  project,
  terms,
}: {
  readonly hone: Hone;
  readonly project: string;
  readonly terms: readonly RewardTerm[];
}) {
  const loaded = useLoaded(
    (signal) => hone.feedback.stats({ project_id: project }, { signal }),
    [hone, project],
  );
  const types = unreadTypes(loaded.value?.types ?? [], terms);
  const [first] = types;
  if (first === undefined) return null;
  const count = types.reduce((sum, type) => sum + type.count, 0);
  const list = types.map((type) => `${type.feedback_type} (${type.count})`).join(", ");
  return (
    <p class="warning" role="status">
      This reward does not read {counted(count, "record")} of the project: {list}. To train on them, choose a
      rule that reads these types, or{" "}
      <a href={newRuleAddress(project, annotationName(first.feedback_type) ?? "")}>create a rule</a>.
    </p>
  );
}
