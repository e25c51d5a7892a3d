// A cursor over the text received so far, for parsers that look ahead or return to a saved position. A parser is a
// generator that yields when it needs more text, so its code can be written as if all text were present.

/** A parser: yields whenever it needs more text, and returns its result. */
export type Reading<Result = void> = Generator<void, Result, void>;

export class Cursor {
  #text = "";
  #at = 0;
  #keptAt: number | null = null;
  #isEnded = false;

  /** Appends received text. Drops text that has been read, unless a saved position still needs it. */
  append(text: string): void {
    const start = this.#keptAt ?? this.#at;
    this.#text = this.#text.slice(start) + text;
    this.#at -= start;
    if (this.#keptAt !== null) this.#keptAt = 0;
  }

  /** Marks that no more text will be received. */
  end(): void {
    this.#isEnded = true;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Text that has been received but not read. */
  get rest(): string {
    return this.#text.slice(this.#at);
  }

  advance(count: number): void {
    this.#at += count;
  }

  /** Reads and returns all text received so far. */
  takeRest(): string {
    const { rest } = this;
    this.advance(rest.length);
    return rest;
  }

  /** Saves the current position, so that {@link goBack} can return to it. Only one position can be saved at a time. */
  keep(): void {
    this.#keptAt = this.#at;
  }

  release(): void {
    this.#keptAt = null;
  }

  /** Returns to the saved position and forgets it. */
  goBack(): void {
    this.#at = this.#keptAt ?? this.#at;
    this.#keptAt = null;
  }

  /** Returns the next character without reading it; returns an empty text at the end. */
  *peek(): Reading<string> {
    while (this.#at >= this.#text.length && !this.#isEnded) yield;
    return this.#text.charAt(this.#at);
  }

  /** Reads the given text if it comes next; otherwise reads nothing. */
  *takes(text: string): Reading<boolean> {
    const isNext = yield* this.sees(text);
    if (isNext) this.advance(text.length);
    return isNext;
  }

  /** True if the given text comes next. Does not read it. */
  *sees(text: string): Reading<boolean> {
    for (;;) {
      const come = this.rest.slice(0, text.length);
      if (come.length === text.length || !text.startsWith(come) || this.#isEnded) return come === text;
      yield;
    }
  }

  /** Reads the longest run of the given characters and returns it. */
  *skip(isSkipped: (character: string) => boolean): Reading<string> {
    let skipped = "";
    for (;;) {
      const character = yield* this.peek();
      if (character === "" || !isSkipped(character)) return skipped;
      skipped += character;
      this.advance(1);
    }
  }
}

export const isBlank = (character: string): boolean => /\s/.test(character);
export const isNewline = (character: string): boolean => character === "\n";

/**
 * Reads the given text if it comes next, optionally after blanks; otherwise reads nothing. Must not be called while a
 * position is saved.
 */
export function* takesAfterBlanks(cursor: Cursor, text: string): Reading<boolean> {
  cursor.keep();
  yield* cursor.skip(isBlank);
  const isTaken = yield* cursor.takes(text);
  if (isTaken) cursor.release();
  else cursor.goBack();
  return isTaken;
}

/**
 * Reads and emits text up to the first mark (such as `<tool_call>`), or to the end of the text. Holds back text that
 * may be the beginning of a mark. Leaves the padding before a mark, or before the end of the text, unread.
 *
 * @returns true if a mark was found; the padding and the mark come next
 */
export function* readUntil(
  cursor: Cursor,
  {
    marks,
    isPadding,
  }: { readonly marks: readonly string[]; readonly isPadding: (character: string) => boolean },
  give: (text: string) => void,
): Reading<boolean> {
  for (;;) {
    const { rest } = cursor;
    const found = firstOf(rest, marks);
    const isLast = found < 0 && cursor.isEnded;
    const heldCount = isLast ? 0 : Math.max(0, ...marks.map((mark) => markPrefixAtEnd(rest, mark)));
    let end = found >= 0 ? found : rest.length - heldCount;
    while (end > 0 && isPadding(rest[end - 1])) end -= 1;
    if (end > 0) give(rest.slice(0, end));
    cursor.advance(end);
    if (found >= 0 || isLast) return found >= 0;
    yield;
  }
}

/** Returns the index of the first occurrence of any of the marks in the text; -1 if there is none. */
function firstOf(text: string, marks: readonly string[]): number {
  const places = marks.map((mark) => text.indexOf(mark)).filter((place) => place >= 0);
  return places.length === 0 ? -1 : Math.min(...places);
}

/** Returns how many characters at the end of a text may be the beginning of a mark. */
function markPrefixAtEnd(text: string, mark: string): number {
  const countMax = Math.min(text.length, mark.length - 1);
  for (let count = countMax; count > 0; count--) if (text.endsWith(mark.slice(0, count))) return count;
  return 0;
}
