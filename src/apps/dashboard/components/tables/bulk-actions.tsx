// Actions on the selected rows of a table: save them as JSON Lines or CSV, and delete them.
import type { ComponentChildren } from "preact";
import { Failure } from "../forms/failure.tsx";
import { Icon } from "../icon.tsx";
import { toCsv, toJsonLines } from "./rows-file.ts";
import { saveBlob } from "../save-file.ts";
import { useAction } from "../forms/use-action.ts";

export function BulkActions({
  rows,
  name,
  load = () => Promise.resolve(rows),
  onDelete,
  children,
}: {
  readonly rows: readonly object[];
  /** Name of the saved files, without the ending. */
  readonly name: string;
  /** Loads the objects to save; by default the rows themselves are saved. */
  readonly load?: () => Promise<readonly object[]>;
  /** Deletes the rows; absent if the table has no such action. */
  readonly onDelete?: () => Promise<void>;
  /** Further actions. */
  readonly children?: ComponentChildren;
}) {
  const { isBusy, failure, run } = useAction();
  const save = async (ending: "jsonl" | "csv"): Promise<void> => {
    const text = ending === "csv" ? toCsv(await load()) : toJsonLines(await load());
    saveBlob(
      new Blob([text], { type: ending === "csv" ? "text/csv" : "application/jsonl" }),
      `${name}.${ending}`,
    );
  };
  const remove = async (): Promise<void> => {
    if (confirm(`Delete ${rows.length} selected? This cannot be undone.`)) await onDelete?.();
  };
  const isOff = isBusy || rows.length === 0;
  return (
    <div class="bulk" role="group" aria-label="Actions on selected rows">
      <span class="muted" role="status">
        {rows.length} selected
      </span>
      <button type="button" disabled={isOff} onClick={() => run(() => save("jsonl"))}>
        <Icon of="download" /> JSONL
      </button>
      <button type="button" disabled={isOff} onClick={() => run(() => save("csv"))}>
        <Icon of="download" /> CSV
      </button>
      {children}
      {onDelete !== undefined && (
        <button type="button" class="danger" disabled={isOff} onClick={() => run(remove)}>
          <Icon of="trash" /> Delete
        </button>
      )}
      <Failure of={failure} />
    </div>
  );
}

/** A link that acts on the selected rows; a disabled button while it has no use for them. */
export function BulkLink({
  to,
  isOff,
  children,
}: {
  readonly to: string;
  readonly isOff: boolean;
  readonly children: ComponentChildren;
}) {
  return isOff ? (
    <button type="button" disabled>
      {children}
    </button>
  ) : (
    <a class="button" href={to}>
      {children}
    </a>
  );
}

/** Returns the ids of rows as a parameter of a URL. */
export function idsOf(rows: readonly { readonly id: string }[]): string {
  return rows.map(({ id }) => id).join();
}
