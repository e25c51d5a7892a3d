// The few numbers that matter most in a view, in large type.
import type { ComponentChildren } from "preact";

export interface Stat {
  readonly label: string;
  readonly value: ComponentChildren;
  /** Explanation or a second number, in small type. */
  readonly hint?: ComponentChildren;
}

export function Stats({ of }: { readonly of: readonly Stat[] }) {
  return (
    <dl class="stats">
      {of.map(({ label, value, hint }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value}
            {hint !== undefined && <small>{hint}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
