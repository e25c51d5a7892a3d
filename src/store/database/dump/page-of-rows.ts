// Divides rows into pages for copying. A page ends at about one megabyte, so its number of rows depends on their
// lengths.
import type { Cell } from "../../../base/domain/backup/tables.ts";

const charactersMax = 1 << 20;
const rowsMax = 1000;

export class PageOfRows {
  readonly rows: (readonly Cell[])[] = [];
  #characters = 0;

  add(row: readonly Cell[]): void {
    this.rows.push(row);
    this.#characters += charactersOf(row);
  }

  get isFull(): boolean {
    return this.#characters >= charactersMax || this.rows.length >= rowsMax;
  }
}

/** Counts the characters of a row's texts. */
export function charactersOf(row: readonly Cell[]): number {
  return row.reduce<number>((sum, cell) => sum + (typeof cell === "string" ? cell.length : 8), 0);
}
