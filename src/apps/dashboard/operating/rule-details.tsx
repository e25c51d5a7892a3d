// Button with the name of a reward rule, which opens the terms and the settings of the rule.
import { useState } from "preact/hooks";
import type { RewardRule } from "../../client/api.ts";
import { Command } from "../components/empty.tsx";
import { Dialog } from "../components/forms/dialog.tsx";
import { Facts } from "../components/shown.tsx";
import { termText } from "./term-text.ts";

export function RuleDetails({ rule }: { readonly rule: RewardRule }) {
  const [isOpen, setIsOpen] = useState(false);
  const { name, entity, project, terms, standing, state } = rule;
  return (
    <>
      <button type="button" class="plain" title="Show the rule" onClick={() => setIsOpen(true)}>
        <strong>{name}</strong>
      </button>
      {isOpen && (
        <Dialog title={`Rule ${name}`} onClose={() => setIsOpen(false)}>
          <Facts
            of={[
              ["project", `${entity}/${project}`],
              ["trains", standing === null ? "on request" : "automatically"],
              ...(state === null ? [] : ([["state", state.reason]] as const)),
            ]}
          />
          <h3>Feedback that the rule reads</h3>
          <ul>
            {terms.map((term, place) => (
              <li key={place}>{termText(term)}</li>
            ))}
            {terms.length === 0 && <li>The rule trains on rollouts, which have rewards already.</li>}
          </ul>
          <h3>As JSON</h3>
          <Command text={JSON.stringify({ name, terms, standing }, null, 2)} />
        </Dialog>
      )}
    </>
  );
}
