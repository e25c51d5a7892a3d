// Dialog that creates a reward rule, and then shows what a job of the chosen model would train on.
import { useState } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { FormDialog } from "../components/forms/form-dialog.tsx";
import { textIn } from "../components/forms/form-values.ts";
import { ModelField } from "../components/forms/model-field.tsx";
import { modelNamed } from "../components/forms/model-named.ts";
import { projectOf } from "../components/forms/project-name.ts";
import { ProjectField, useProjects } from "../components/forms/projects.tsx";
import { addressOf, go, place } from "../router.ts";
import { type TermKind, termKinds, termsOf } from "./rule-terms.ts";

export function NewRule({ hone, onClose }: { readonly hone: Hone; readonly onClose: () => void }) {
  const { query } = place.value;
  const annotation = query.get("annotation") ?? "";
  const projects = useProjects(hone);
  const [typed, setTyped] = useState(query.get("new") ?? "");
  const project = typed === "" ? (projects.value?.[0] ?? "") : typed;
  const [kind, setKind] = useState<TermKind>(annotation === "" ? "thumbs" : "annotation");
  const create = async (form: HTMLFormElement): Promise<void> => {
    const named = textIn(form, "model");
    const model = named === "" ? "" : (await modelNamed(hone, named)).id;
    const isAutomatic = textIn(form, "automatic") !== "" && model !== "";
    const [name, rewards, json] = [textIn(form, "name"), textIn(form, "rewards"), textIn(form, "json")];
    const rule = await hone.rules.create({
      ...projectOf(textIn(form, "project")),
      name,
      terms: termsOf({ kind, annotation: textIn(form, "annotation"), rewards, json }),
      standing: isAutomatic ? { model_id: model } : null,
    });
    if (model === "" || isAutomatic) onClose();
    else go(addressOf("train", [], { feedback: model, rule: rule.id }));
  };
  return (
    <FormDialog title="New rule" needs="train" done="Rule created." onSubmit={create} onClose={onClose}>
      <ProjectField projects={projects.value ?? []} value={project} isRequired onChange={setTyped} />
      <label>
        Name
        <input name="name" required defaultValue={annotation} placeholder="thumbs" />
      </label>
      <label>
        Feedback
        {/* Safe cast: the options are the keys of the record. */}
        <select value={kind} onChange={(event) => setKind(event.currentTarget.value as TermKind)}>
          {Object.entries(termKinds).map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {kind === "annotation" && (
        <>
          <label>
            Short name of the question
            <input name="annotation" required defaultValue={annotation} placeholder="tone" />
          </label>
          <label>
            Rewards; empty if the answers are yes and no, or numbers from 0 to 1
            <input
              name="rewards"
              defaultValue={query.get("rewards") ?? ""}
              placeholder="kind=1, rude=0 or 1..5"
            />
          </label>
        </>
      )}
      {kind === "json" && (
        <label>
          Terms, as in the API
          <textarea name="json" required rows={5} placeholder={jsonExample} />
        </label>
      )}
      <ModelField hone={hone} project={project} label="Model to train" placeholder="none yet" />
      <label class="check">
        <input type="checkbox" name="automatic" value="yes" />
        Train this model automatically as feedback arrives
      </label>
    </FormDialog>
  );
}

const jsonExample = '[{"kind": "number", "feedback_type": "score", "path": "stars", "range": [1, 5]}]';
