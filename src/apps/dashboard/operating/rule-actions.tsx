// Links and buttons of a reward rule: train with the rule, make it automatic, pause, resume or delete it.
import type { RewardRule } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
import { addressOf } from "../router.ts";
import { may } from "../session.ts";
import { AutomaticRule } from "./automatic-rule.tsx";

export function RuleActions({
  hone,
  rule,
  onChange,
}: {
  readonly hone: Hone;
  readonly rule: RewardRule;
  readonly onChange: () => void;
}) {
  if (!may("train")) return null;
  return (
    <div class="row-actions">
      {rule.terms.length > 0 && (
        <>
          <a
            class="button plain"
            href={addressOf("train", [], {
              rule: rule.id,
              ...(rule.standing === null ? { from: "feedback" } : { feedback: rule.standing.model_id }),
            })}
            aria-label={`Train with ${rule.name}`}
          >
            Train
          </a>
          <AutomaticRule hone={hone} rule={rule} onChange={onChange} />
        </>
      )}
      {rule.standing !== null && (
        <ActionButton
          class="plain"
          label={`${rule.paused ? "Resume" : "Pause"} ${rule.name}`}
          act={() => (rule.paused ? hone.rules.resume(rule.id) : hone.rules.pause(rule.id)).then(onChange)}
          done={`Rule ${rule.name} ${rule.paused ? "resumed" : "paused"}.`}
        >
          {rule.paused ? "Resume" : "Pause"}
        </ActionButton>
      )}
      <ActionButton
        class="plain danger"
        label={`Delete ${rule.name}`}
        asks={{
          title: `Delete the rule ${rule.name}?`,
          says: "The rule and its settings will be lost. Its jobs and their versions stay.",
          button: "Delete the rule",
        }}
        act={() => hone.rules.delete(rule.id).then(onChange)}
        done={`Rule ${rule.name} deleted.`}
      >
        Delete
      </ActionButton>
    </div>
  );
}
