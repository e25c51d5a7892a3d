// Dialog that creates a key.
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
        Entity
        <input name="entity" maxLength={128} placeholder="that of your key" />
      </label>
      <label>
        Role
        <select name="role">
          <option value="member">member of the entity</option>
          <option value="admin">administrator of the server</option>
        </select>
      </label>
      <fieldset>
        <legend>Scopes; without any, the key may do everything that its role allows</legend>
        {scopes.map((scope) => (
          <label key={scope} class="check">
            <input type="checkbox" name="scopes" value={scope} />
            {scope}
          </label>
        ))}
        {scopes.map((scope) => (
          <p key={scope} class="muted small">
            On this page, <code>{scope}</code> opens {titlesWith(scope).join(", ")}.
          </p>
        ))}
        <p class="muted small">
          Any key opens Overview, Base models and Keys and usage. Logs and the list of keys need an
          administrator&apos;s key without scopes.
        </p>
      </fieldset>
      <label>
        Only this project
        <input name="project" maxLength={128} placeholder="all projects" />
      </label>
      <label>
        Expires
        <input name="expires_at" type="datetime-local" />
      </label>
      <LimitFields />
    </FormDialog>
  );
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
