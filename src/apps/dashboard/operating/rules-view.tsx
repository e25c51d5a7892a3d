// View of the reward rules: their terms, and the state of those that create jobs automatically.
import { useState } from "preact/hooks";
import type { RewardRule } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Empty } from "../components/empty.tsx";
import { Icon } from "../components/icon.tsx";
import { listed, PagedTable } from "../components/paged-table.tsx";
import { shortId } from "../components/short-id.ts";
import { State, View, When } from "../components/shown.tsx";
import { addressOf, place, replaceQuery } from "../router.ts";
import { NewRule } from "../rules/new-rule.tsx";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { RuleDetails } from "./rule-details.tsx";
import { RuleActions } from "./rule-actions.tsx";
import { termText } from "./term-text.ts";

const limit = 50;
const everyMs = 15_000;

export function RulesView({ hone }: { readonly hone: Hone }) {
  const after = place.value.query.get("after") ?? "";
  const loaded = useLoaded(
    async (signal) =>
      listed(await hone.rules.list({ limit, ...(after !== "" && { after }) }, { signal }).first()),
    [hone, after],
    everyMs,
  );
  const [isNew, setIsNew] = useState(place.value.query.has("new"));
  const close = (): void => {
    setIsNew(false);
    replaceQuery((query) => ["new", "annotation", "rewards"].forEach((name) => query.delete(name)));
    loaded.reload();
  };
  return (
    <View
      title="Reward rules"
      lead="Rules turn feedback into rewards. Automatic rules also create training jobs."
      actions={
        may("train") && (
          <button type="button" class="primary" onClick={() => setIsNew(true)}>
            <Icon of="plus" /> New rule
          </button>
        )
      }
    >
      <PagedTable
        loaded={loaded}
        label="Reward rules"
        columns={["rule", "reads", "state", { number: "groups ready" }, "last automatic job", "changed", ""]}
        none={() => <NoRules />}
        first={after === "" ? null : addressOf("rules")}
        nextOf={(last) => addressOf("rules", [], { after: last })}
      >
        {(rule) => (
          <tr key={rule.id}>
            <td class="model-name" title={rule.id}>
              <small class="path">
                {rule.entity}/{rule.project}/
              </small>
              <RuleDetails rule={rule} />
            </td>
            <td>{rule.terms.length === 0 ? "rollouts" : rule.terms.map(termText).join("; ")}</td>
            <td class="how-far">
              <State of={rule.state?.status ?? "on request"} />
              {rule.state !== null && <small class="progress">{rule.state.reason}</small>}
            </td>
            <td class="number">
              {rule.state === null ? "–" : `${rule.state.groups_ready} of ${rule.state.groups_min}`}
            </td>
            <td>
              <LastJob rule={rule} />
            </td>
            <td>
              <When at={rule.updated_at} />
            </td>
            <td>
              <RuleActions hone={hone} rule={rule} onChange={loaded.reload} />
            </td>
          </tr>
        )}
      </PagedTable>
      {isNew && <NewRule hone={hone} onClose={close} />}
    </View>
  );
}

function NoRules() {
  return (
    <Empty
      icon="rule"
      title="No reward rules yet"
      commands={[`npx hone rules add my-project thumbs --reactions 👍=1,👎=0 --url ${location.origin}`]}
    >
      A rule says how much a thumb, a score or an answer in a queue is worth. Create one with{" "}
      <em>New rule</em>, or with a command.
    </Empty>
  );
}

function LastJob({ rule: { state } }: { readonly rule: RewardRule }) {
  if (state === null || state.last_job_id === null) return <>none yet</>;
  return <a href={addressOf("jobs", [state.last_job_id])}>job {shortId(state.last_job_id)}</a>;
}
