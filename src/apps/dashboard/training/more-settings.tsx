// Fields for all settings of a job that the form does not show at first. The server's API document describes them; the
// page loads it when the user opens the fields.
import { useState } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { Shown } from "../components/shown.tsx";
import { useLoaded } from "../use-loaded.ts";
import { type ApiDocument, type ApiSetting, apiSettings } from "./api-settings.ts";
import { type JobKind, morePrefix, offeredSettings } from "./settings.ts";

interface Properties {
  readonly hone: Hone;
  readonly kind: JobKind;
  /** Settings of an earlier job. */
  readonly values: Readonly<Record<string, unknown>>;
}

export function MoreSettings(properties: Properties) {
  // Fields that have been opened stay, so that the form keeps their values.
  const [isUsed, setIsUsed] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => currentTarget.open && setIsUsed(true)}>
      <summary>More settings</summary>
      {isUsed && <MoreFields {...properties} />}
    </details>
  );
}

const offered = new Set<string>(offeredSettings.flatMap(({ file, rl }) => [file, rl]));

function MoreFields({ hone, kind, values }: Properties) {
  const document = useLoaded((signal) => readDocument(hone, signal), [hone]);
  return (
    <Shown loaded={document}>
      {(found) => (
        <div class="fields">
          {apiSettings(found, kind, offered).map((setting) => (
            <MoreField key={setting.name} setting={setting} value={values[setting.name] ?? null} />
          ))}
        </div>
      )}
    </Shown>
  );
}

/** The field of a setting. Its text is JSON; an empty field stands for the default. */
function MoreField({ setting, value }: { readonly setting: ApiSetting; readonly value: unknown }) {
  const { name, description, input, usual } = setting;
  const properties = { name: `${morePrefix}${name}`, title: description };
  const text = value === null ? "" : JSON.stringify(value);
  const isDefault = usual === "" ? "default" : `${usual} (default)`;
  return (
    <label>
      {name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ")}
      {input.kind === "number" ? (
        <input
          {...properties}
          type="number"
          min={input.min}
          max={input.max}
          step={input.isWhole ? 1 : "any"}
          placeholder={isDefault}
          defaultValue={text}
        />
      ) : (
        <select {...properties} defaultValue={text}>
          <option value="">{isDefault}</option>
          {input.choices.map((choice) => (
            <option key={choice} value={JSON.stringify(choice)} selected={JSON.stringify(choice) === text}>
              {String(choice)}
            </option>
          ))}
        </select>
      )}
    </label>
  );
}

async function readDocument(hone: Hone, signal: AbortSignal): Promise<ApiDocument> {
  const headers = { authorization: `Bearer ${hone.apiKey}` };
  const response = await hone.fetch(`${hone.baseUrl}/openapi.json`, { headers, signal });
  if (!response.ok) throw new Error(`The server does not show its settings (status ${response.status}).`);
  // Safe cast: the document describes this server's API.
  return (await response.json()) as ApiDocument;
}
