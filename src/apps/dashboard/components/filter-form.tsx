// Form that filters the list below it. Text fields apply when the form is submitted, selections immediately. On narrow
// screens, a button with the number of active filters opens the form.
import type { ComponentChildren, TargetedSubmitEvent } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { localTime } from "./forms/local-time.ts";

export function FilterForm({
  filters,
  onSubmit,
  onClear,
  children,
}: {
  readonly filters: object;
  readonly onSubmit: (form: HTMLFormElement) => void;
  readonly onClear: () => void;
  /** Fields of the form. */
  readonly children: ComponentChildren;
}) {
  const id = useId();
  const [isOpen, setIsOpen] = useState(false);
  const { key, submitting } = useFormKey(JSON.stringify(filters));
  const count = Object.keys(filters).length;
  return (
    <>
      <button
        type="button"
        class="filters-button"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setIsOpen(!isOpen)}
      >
        Filters {count > 0 && <span class="tag">{count}</span>}
      </button>
      <form
        id={id}
        class={isOpen ? "filters" : "filters is-folded"}
        aria-label="Filters"
        key={key}
        onSubmit={submitting(onSubmit)}
      >
        {children}
        <button type="submit">Filter</button>
        {count > 0 && (
          <button type="button" class="plain" onClick={onClear}>
            Clear
          </button>
        )}
      </form>
    </>
  );
}

/**
 * Returns the key of a form whose fields show the URL's parameters. The key changes, so that the form is created anew, if
 * something other than the form changes the parameters. After the form's own change, its fields and the focus stay.
 *
 * @param parameters the parameters as a text
 */
export function useFormKey(parameters: string) {
  const form = useRef({ parameters, key: 0, isSubmitted: false });
  if (form.current.parameters !== parameters) {
    const { key, isSubmitted } = form.current;
    form.current = { parameters, key: isSubmitted ? key : key + 1, isSubmitted: false };
  }
  return {
    key: form.current.key,
    /** Returns the form's submit handler. `onSubmit` changes the URL. */
    submitting:
      (onSubmit: (form: HTMLFormElement) => void) => (event: TargetedSubmitEvent<HTMLFormElement>) => {
        event.preventDefault();
        const before = location.hash;
        onSubmit(event.currentTarget);
        form.current.isSubmitted = location.hash !== before;
      },
  };
}

export function FilterChoice({
  name,
  label,
  value = "",
  choices,
}: {
  readonly name: string;
  readonly label: string;
  readonly value: string | undefined;
  /** Values and their labels. The empty value stands for no filter. */
  readonly choices: readonly (readonly [value: string, title: string])[];
}) {
  return (
    <label>
      {label}
      <select
        name={name}
        defaultValue={value}
        onChange={(event) => event.currentTarget.form?.requestSubmit()}
      >
        {choices.map(([choice, title]) => (
          <option key={choice} value={choice} selected={choice === value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

interface FieldProperties {
  readonly name: string;
  readonly label: string;
  readonly value: string | undefined;
}

/**
 * A field for text.
 *
 * @param names texts that the field offers
 */
export function FilterText({
  name,
  label,
  value = "",
  placeholder,
  names = [],
}: FieldProperties & { readonly placeholder?: string; readonly names?: readonly string[] }) {
  return (
    <label>
      {label}
      <input
        name={name}
        defaultValue={value}
        placeholder={placeholder}
        list={names.length === 0 ? undefined : `offered-${name}`}
        dir="auto"
      />
      {names.length > 0 && (
        <datalist id={`offered-${name}`}>
          {names.map((offered) => (
            <option key={offered} value={offered} />
          ))}
        </datalist>
      )}
    </label>
  );
}

/** A field for a number. */
export function FilterNumber({
  name,
  label,
  value = "",
  ...input
}: FieldProperties & { readonly min?: number; readonly step: string }) {
  return (
    <label>
      {label}
      <input name={name} type="number" defaultValue={value} {...input} />
    </label>
  );
}

/** A field for a time. Its value is in ISO 8601, and its text in the form that `timesIn` converts. */
export function FilterTime({ name, label, value }: FieldProperties) {
  return (
    <label>
      {label}
      <input name={name} type="datetime-local" defaultValue={localTime(value) ?? ""} />
    </label>
  );
}
