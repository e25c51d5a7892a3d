// What every view has: a heading, what went wrong, what is still to come, a way to the next page.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Loaded } from "../use-loaded.ts";

/** A view with its title, which takes the focus when the view opens: so a screen reader says where one is. */
export function View({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Hone`;
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [title]);
  return (
    <>
      <h1 tabIndex={-1} ref={heading}>
        {title}
      </h1>
      {children}
    </>
  );
}

/** What was loaded, or why it was not. What was loaded before stays while a later try fails. */
export function Shown<Value>({
  loaded,
  children,
}: {
  readonly loaded: Loaded<Value>;
  readonly children: (value: Value) => ComponentChildren;
}) {
  const { value, failure, isLoading, reload } = loaded;
  return (
    <>
      {failure !== null && (
        <p class="failure" role="alert">
          {failure}{" "}
          <button type="button" class="plain" onClick={reload}>
            Try again
          </button>
        </p>
      )}
      {value === null ? isLoading && <p class="muted">Loading …</p> : children(value)}
    </>
  );
}

/** A table that may be wider than the screen: whoever has no pointer scrolls it with the arrow keys. */
export function WideTable({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={label}>
      <table>{children}</table>
    </div>
  );
}

/** Links to the first page and the next one. */
export function Pager({ first, next }: { readonly first: string | null; readonly next: string | null }) {
  if (first === null && next === null) return null;
  return (
    <nav class="pager" aria-label="Pages">
      {first !== null && <a href={first}>First page</a>}
      {next !== null && (
        <a href={next} rel="next">
          Next page
        </a>
      )}
    </nav>
  );
}

/** Names with what they are, side by side. */
export function Facts({ of }: { readonly of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A state in a word, with a colour beside it. */
export function State({ of }: { readonly of: string }) {
  return <span class={`state state-${of}`}>{of}</span>;
}

/** When something was, in the reader's own time. */
export function When({ at }: { readonly at: string | null }) {
  if (at === null) return <>–</>;
  return <time dateTime={at}>{new Date(at).toLocaleString()}</time>;
}
