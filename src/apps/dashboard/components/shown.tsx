// Elements that views share: title, error, loading indicator, links between pages, lists of facts, and states.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Loaded } from "../use-loaded.ts";
import { isTyping } from "../shortcuts.tsx";
import { CodeText } from "./errors/code-text.tsx";
import { Skeleton } from "./skeleton.tsx";

export { When } from "./times/when.tsx";

/** A view with a title. The title receives the focus when the view opens, so that a screen reader announces it. */
export function View({
  title,
  path,
  state,
  lead,
  actions,
  children,
}: {
  readonly title: string;
  /** Views above this one, the outermost first. */
  readonly path?: Path;
  /** State of the view's subject, shown next to the title. */
  readonly state?: ComponentChildren;
  /** One sentence about the view, below the title. */
  readonly lead?: ComponentChildren;
  /** Buttons and links that act on the whole view, at the end of the title's line. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Hone`;
    // A title can also change while the view is open, for example when a name is loaded. Then the user may be typing.
    if (isTyping(document.activeElement)) return;
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [title]);
  return (
    <>
      {path !== undefined && <Breadcrumb path={path} />}
      <div class="view-head">
        <h1 tabIndex={-1} ref={heading} dir="auto">
          {title}
        </h1>
        {state}
        {actions !== undefined && <div class="actions">{actions}</div>}
        {lead !== undefined && <p class="lead">{lead}</p>}
      </div>
      {children}
    </>
  );
}

/** Titles of views, each with the view's address. */
export type Path = readonly (readonly [title: string, address: string])[];

function Breadcrumb({ path }: { readonly path: Path }) {
  return (
    <nav class="crumbs" aria-label="Breadcrumb">
      <ol>
        {path.map(([title, address]) => (
          <li key={address}>
            <a href={address}>{title}</a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** Shows a loaded value, or the error of loading. If reloading fails, shows the previous value and the error. */
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
          <CodeText of={failure} />{" "}
          <button type="button" class="plain" onClick={reload}>
            Try again
          </button>
        </p>
      )}
      {value === null ? isLoading && <Skeleton /> : children(value)}
    </>
  );
}

/** A table that scrolls horizontally if it is wider than the screen, also with the arrow keys. */
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

/** Links to the first, the previous and the next page. */
export function Pager({
  first,
  previous = null,
  next,
}: {
  readonly first: string | null;
  readonly previous?: string | null;
  readonly next: string | null;
}) {
  if (first === null && next === null) return null;
  return (
    <nav class="pager" aria-label="Pages">
      {first !== null && <a href={first}>First page</a>}
      {previous !== null && (
        <a href={previous} rel="prev">
          Previous
        </a>
      )}
      {next !== null && (
        <a href={next} rel="next">
          Next page
        </a>
      )}
    </nav>
  );
}

/** A list of names with their values. */
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

/**
 * A state such as `failed`, in the colour that stands for it.
 *
 * @param says text to show instead of the state
 * @param title reason of the state, shown as a tooltip
 */
export function State({
  of,
  says = of,
  title,
}: {
  readonly of: string;
  readonly says?: string;
  readonly title?: string | undefined;
}) {
  return (
    <span class={`state state-${of}`} title={title}>
      {says}
    </span>
  );
}
