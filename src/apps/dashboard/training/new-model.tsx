// Dialog that registers a model to train.
import type { Hone } from "../../client/hone.ts";
import { FormDialog } from "../components/forms/form-dialog.tsx";
import { textIn } from "../components/forms/form-values.ts";
import { projectOf } from "../components/forms/project-name.ts";
import { ProjectField, useProjects } from "../components/forms/projects.tsx";
import { summary } from "../live.ts";
import { addressOf, go } from "../router.ts";

export function NewModel({ hone, onClose }: { readonly hone: Hone; readonly onClose: () => void }) {
  const projects = useProjects(hone);
  const create = async (form: HTMLFormElement): Promise<void> => {
    const { id } = await hone.models.create({
      ...projectOf(textIn(form, "project")),
      name: textIn(form, "name"),
      base_model: textIn(form, "base"),
    });
    go(addressOf("models", [id]));
  };
  return (
    <FormDialog
      title="New model"
      needs="train"
      isReady={summary.value !== null}
      done="Model created."
      onSubmit={create}
      onClose={onClose}
    >
      <ProjectField projects={projects.value ?? []} value={projects.value?.[0] ?? ""} isRequired />
      <label>
        Name
        <input name="name" required maxLength={128} placeholder="agent" />
      </label>
      <label>
        Base model
        <select name="base" required>
          {(summary.value?.bases ?? []).map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </FormDialog>
  );
}
