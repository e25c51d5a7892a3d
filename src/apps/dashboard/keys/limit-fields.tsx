// Fields for the limits of a key, and their values.
import { numberOrNull } from "../components/forms/form-values.ts";

/** Limits of a key, with their labels. */
const limits = [
  ["requests_per_minute", "Requests per minute"],
  ["tokens_per_minute", "Tokens per minute"],
  ["concurrent_requests", "Requests at the same time"],
  ["queued_jobs", "Queued jobs"],
] as const;
export type KeyLimits = { readonly [Name in (typeof limits)[number][0]]: number | null };

export function LimitFields({ of }: { readonly of?: KeyLimits }) {
  return (
    <fieldset>
      <legend>Limits; leave a field empty for no limit</legend>
      {limits.map(([name, label]) => (
        <label key={name}>
          {label}
          <input name={name} type="number" min={1} step="1" defaultValue={String(of?.[name] ?? "")} />
        </label>
      ))}
    </fieldset>
  );
}

export function limitsIn(form: HTMLFormElement): KeyLimits {
  // Safe cast: the entries have the names of the limits.
  return Object.fromEntries(limits.map(([name]) => [name, numberOrNull(form, name)])) as KeyLimits;
}
