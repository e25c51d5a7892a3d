// Dialog that creates a key.
import { useState } from "preact/hooks";
import type { KeyCreate } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { FormDialog } from "../components/forms/form-dialog.tsx";
import { checkedIn, textIn, textOrNull } from "../components/forms/form-values.ts";
import { timesIn } from "../components/forms/local-time.ts";
import { scopes, titlesWith } from "../frame/key-access.ts";
import { LimitFields, limitsIn } from "./limit-fields.tsx";

export function NewKey({
  hone,
  onClose,
  onMade,
}: {
  readonly hone: Hone;
  readonly onClose: () => void;
  readonly onMade: (secret: string) => void;
}) {
  const [checked, setChecked] = useState<readonly string[]>([]);
  const create = async (form: HTMLFormElement): Promise<void> =>
    onMade((await hone.keys.create(keyIn(form))).key);
  return (
    <FormDialog title="New key" needs="administer" onSubmit={create} onClose={onClose}>
      <label>
        Name
        <input name="name" required maxLength={128} placeholder="nightly evaluation" />
      </label>
      <label>
        Owner
        <input name="owner" maxLength={128} placeholder="a person or a program" />
      </label>
      <label>
        Role
        <select name="role">
          <option value="member">member of the entity</option>
          <option value="admin">administrator of the server</option>
        </select>
      </label>
      <fieldset>
        <legend>Scopes</legend>
        {scopes.map((scope) => (
          <label key={scope} class="check">
            <input
              type="checkbox"
              name="scopes"
              value={scope}
              onChange={({ currentTarget: { form } }) =>
                form !== null && setChecked(checkedIn(form, "scopes"))
              }
            />
            {scope}
          </label>
        ))}
        <p class="muted">{accessText(checked)}</p>
      </fieldset>
      <details>
        <summary>Limits, project and expiry</summary>
        <LimitFields />
        <div class="fields">
          <label>
            Only this project
            <input name="project" maxLength={128} placeholder="all projects" />
          </label>
          <label>
            Entity
            <input name="entity" maxLength={128} placeholder="that of your key" />
          </label>
          <label>
            Expires
            <input name="expires_at" type="datetime-local" />
          </label>
        </div>
      </details>
    </FormDialog>
  );
}

/** Describes what a key with the checked scopes may do. */
function accessText(checked: readonly string[]): string {
  if (checked.length === 0) return "No scope: the key may do everything that its role allows.";
  const titles = scopes.filter((scope) => checked.includes(scope)).flatMap(titlesWith);
  return `In the navigation, the key opens ${[...new Set(titles)].join(", ")}.`;
}

function keyIn(form: HTMLFormElement): KeyCreate {
  const checked = checkedIn(form, "scopes");
  const given = textIn(form, "expires_at");
  const expiry = given === "" ? null : timesIn(new URLSearchParams({ at: given }), ["at"]).get("at");
  return {
    name: textIn(form, "name"),
    owner: textOrNull(form, "owner"),
    entity: textOrNull(form, "entity"),
    role: textIn(form, "role") === "admin" ? "admin" : "member",
    scopes: checked.length === 0 ? null : scopes.filter((scope) => checked.includes(scope)),
    project: textOrNull(form, "project"),
    expires_at: expiry,
    ...limitsIn(form),
  };
}
