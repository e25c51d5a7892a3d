// Actions on the selected rows of a table: save them as JSON Lines or CSV, and delete them.
import type { ComponentChildren } from "preact";
import { ActionButton } from "../forms/action-button.tsx";
import { Icon } from "../icon.tsx";
import { StepsLine } from "./steps-line.tsx";
import { toCsv, toJsonLines } from "./rows-file.ts";
import { saveBlob } from "../save-file.ts";

export interface Removal {
  /** Number and kind of the rows, such as `3 models`, or the name of the only one. */
  readonly what: string;
  /** Names or first words of the rows. */
  readonly names: readonly string[];
  /** Consequences of the deletion, such as the data that will be lost. */
  readonly says: string;
  readonly act: () => Promise<void>;
}

export function BulkActions({
  rows,
  table,
  name,
  load = () => Promise.resolve(rows),
  removal,
  children,
}: {
  readonly rows: readonly object[];
  /** The rows as the table shows them, for the CSV file. */
  readonly table: () => readonly object[];
  /** Name of the saved files, without the ending. */
  readonly name: string;
  /** Loads the objects of the JSON Lines file; by default it contains the rows themselves. */
  readonly load?: () => Promise<readonly object[]>;
  /** Deletion of the rows; absent if the table has no such action. */
  readonly removal?: Removal;
  /** Further actions. */
  readonly children?: ComponentChildren;
}) {
  const save = async (ending: "jsonl" | "csv"): Promise<void> => {
    const text = ending === "csv" ? toCsv(table()) : toJsonLines(await load());
    saveBlob(
      new Blob([text], { type: ending === "csv" ? "text/csv" : "application/jsonl" }),
      `${name}.${ending}`,
    );
  };
  const isOff = rows.length === 0;
  return (
    <div class={isOff ? "bulk is-off" : "bulk"} role="group" aria-label="Actions on selected rows">
      <span class="muted" role="status">
        {rows.length.toLocaleString("en")} selected
      </span>
      <ActionButton isOff={isOff} act={() => save("jsonl")}>
        <Icon of="download" /> JSONL
      </ActionButton>
      <ActionButton isOff={isOff} act={() => save("csv")}>
        <Icon of="download" /> CSV
      </ActionButton>
      {children}
      <StepsLine />
      {removal !== undefined && (
        <ActionButton
          class="danger"
          isOff={isOff}
          asks={{
            title: `Delete ${removal.what}?`,
            says: `${namesText(removal.names)} ${removal.says}`,
            button: `Delete ${removal.what}`,
          }}
          act={removal.act}
          done={`${removal.what.replace(/^./, (letter) => letter.toUpperCase())} deleted.`}
        >
          <Icon of="trash" /> Delete
        </ActionButton>
      )}
    </div>
  );
}

/** Maximum numbers of names, and of characters of a name, in the question before a deletion. */
const [namesMax, nameMax] = [5, 60];

/** Returns a sentence with the first names. */
function namesText(names: readonly string[]): string {
  const shown = names
    .slice(0, namesMax)
    .map((name) => (name.length > nameMax ? `${name.slice(0, nameMax)} …` : name));
  const rest = names.length - shown.length;
  return `You selected: ${shown.join("; ")}${rest === 0 ? "" : `; and ${rest} more`}.`;
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
