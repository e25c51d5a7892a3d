// Form that creates a training job: fields of the caller, the settings that the page offers, and the button that starts
// the job and opens its view.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { useAction } from "../components/forms/use-action.ts";
import { addressOf, go } from "../router.ts";
import { MoreSettings } from "./more-settings.tsx";
import { SettingsFields } from "./settings-fields.tsx";
import {
  type Chosen,
  chosenIn,
  type JobKind,
  type Settings,
  settingsIn,
  type SettingName,
} from "./settings.ts";

export function JobForm({
  hone,
  kind,
  values = {},
  earlier = {},
  isReady = true,
  create,
  preview,
  children,
}: {
  readonly hone: Hone;
  readonly kind: JobKind;
  /** Settings that the form shows when it opens. */
  readonly values?: Readonly<Partial<Record<SettingName, string>>>;
  /** Further settings of an earlier job. */
  readonly earlier?: Readonly<Record<string, unknown>>;
  readonly isReady?: boolean;
  /** Creates the job with the form's settings, and returns its id. */
  readonly create: (settings: Settings) => Promise<string>;
  /** Returns the job's data, shown below the button, for the chosen settings. */
  readonly preview?: (chosen: Chosen) => ComponentChildren;
  /** Fields above the settings. */
  readonly children: ComponentChildren;
}) {
  const { isBusy, failure, run } = useAction();
  const [changed, setChanged] = useState<Settings | null>(null);
  return (
    <form
      class="stacked"
      aria-label="Training job"
      onInput={(event) => setChanged(settingsIn(new FormData(event.currentTarget)))}
      onSubmit={(event) => {
        event.preventDefault();
        const settings = settingsIn(new FormData(event.currentTarget));
        run(async () => go(addressOf("jobs", [await create(settings)])), "Job created.");
      }}
    >
      {children}
      <SettingsFields kind={kind} values={values} />
      <MoreSettings key={kind} hone={hone} kind={kind} values={earlier} />
      <Failure of={failure} />
      <button type="submit" disabled={isBusy || !isReady}>
        {isBusy ? "Creating the job …" : "Start the job"}
      </button>
      {preview?.(chosenIn(kind, changed ?? values))}
    </form>
  );
}
