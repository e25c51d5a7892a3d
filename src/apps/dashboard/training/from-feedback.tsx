// Form that trains a model on feedback about its answers. It first shows what the job would train on.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { FeedbackJob, ModelObject } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { counted, shortNumber } from "../components/numbers.ts";
import { Facts, Shown, WideTable } from "../components/shown.tsx";
import { differingTexts } from "../components/tables/differing-texts.ts";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { lastSpeed } from "./estimate.ts";
import { JobEstimate } from "./job-estimate.tsx";
import { JobForm } from "./job-form.tsx";
import type { Settings } from "./settings.ts";
import { UnreadFeedback } from "./unread-feedback.tsx";

/** Rule of the form if the user chooses no stored rule. */
const thumbs = { terms: [{ kind: "reaction", rewards: { "👍": 1, "👎": 0 } }] } as const;

export function FromFeedback({ hone, modelId }: { readonly hone: Hone; readonly modelId: string }) {
  const model = useLoaded((signal) => hone.models.get(modelId, { signal }), [hone, modelId]);
  return <Shown loaded={model}>{(found) => <FeedbackForm hone={hone} model={found} />}</Shown>;
}

function FeedbackForm({ hone, model }: { readonly hone: Hone; readonly model: ModelObject }) {
  const [ruleId, setRuleId] = useState(place.value.query.get("rule") ?? "");
  const { entity, project } = model;
  const rules = useLoaded(
    async (signal) => (await hone.rules.list({ entity, project, limit: 100 }, { signal }).first()).data,
    [hone, entity, project],
  );
  const choice = { model_id: model.id, ...(ruleId === "" ? { rule: thumbs } : { rule_id: ruleId }) };
  const preview = useLoaded(
    (signal) => hone.jobs.createFromFeedback({ ...choice, dry_run: true }, { signal }),
    [hone, model.id, ruleId],
  );
  const speed = useLoaded((signal) => lastSpeed(hone, model.id, signal), [hone, model.id]);
  const terms = ruleId === "" ? thumbs.terms : rules.value?.find(({ id }) => id === ruleId)?.terms;
  const create = async (settings: Settings): Promise<string> => {
    const { id } = await hone.jobs.createFromFeedback({ ...choice, experimental_config: settings });
    if (id === null) throw new Error("There is no new feedback to train on.");
    return id;
  };
  return (
    <JobForm
      hone={hone}
      kind="rl"
      isReady={(preview.value?.counts.groups ?? 0) > 0}
      create={create}
      preview={(chosen) => (
        <>
          <Shown loaded={preview}>
            {(job) => (
              <Preview of={job}>
                {job.counts.groups > 0 && (
                  <JobEstimate
                    hone={hone}
                    modelId={model.id}
                    size={{
                      trainedTokens: job.counts.trained_tokens,
                      exampleCount: job.counts.answers,
                      seconds: speed.value === null ? null : job.counts.tokens / speed.value,
                    }}
                    chosen={chosen}
                  />
                )}
              </Preview>
            )}
          </Shown>
          {preview.value?.counts.groups === 0 && terms !== undefined && (
            <UnreadFeedback hone={hone} project={`${entity}/${project}`} terms={terms} />
          )}
        </>
      )}
    >
      <p>
        Trains{" "}
        <a href={addressOf("models", [model.id])}>
          {project}/{model.name}
        </a>{" "}
        on the feedback about its answers. Prompts whose answers have different rewards teach the model.
      </p>
      <label>
        Reward
        <select value={ruleId} onChange={(event) => setRuleId(event.currentTarget.value)}>
          <option value="">thumbs: 👍 is 1, 👎 is 0</option>
          {(rules.value ?? []).map(({ id, name }) => (
            <option key={id} value={id}>
              rule {name}
            </option>
          ))}
        </select>
      </label>
    </JobForm>
  );
}

function Preview({
  of: { counts, reasons, groups },
  children,
}: {
  readonly of: FeedbackJob;
  readonly children: ComponentChildren;
}) {
  const prompts = differingTexts(groups.map(({ prompt }) => prompt));
  return (
    <section aria-labelledby="preview">
      <h2 id="preview">Data of the job</h2>
      <Facts
        of={[
          ["feedback records", shortNumber(counts.feedback)],
          // Counts only the people whose feedback the job uses.
          ...(counts.people === 0 ? [] : ([["people", shortNumber(counts.people)]] as const)),
          ["prompts", shortNumber(counts.groups)],
          ["answers", shortNumber(counts.answers)],
          ["tokens with prompts", counts.tokens.toLocaleString("en")],
        ]}
      />
      {children}
      {counts.groups === 0 && <p>No prompt has answers with different rewards yet.</p>}
      <ul>
        {Object.entries(counts.left_out).map(([reason, count]) => (
          <li key={reason}>
            {counted(count, "answer")} left out: {reasons[reason] ?? reason}
          </li>
        ))}
      </ul>
      {groups.length > 0 && (
        <WideTable label="Prompts">
          <thead>
            <tr>
              <th scope="col">prompt</th>
              <th scope="col">rewards of the answers</th>
            </tr>
          </thead>
          <tbody>
            {groups.map(({ prompt, answers }, place) => (
              <tr key={place}>
                <td class="words" title={prompt} dir="auto">
                  {prompts[place]}
                </td>
                <td>{answers.map(({ reward }) => shortNumber(reward)).join(", ")}</td>
              </tr>
            ))}
          </tbody>
        </WideTable>
      )}
    </section>
  );
}
