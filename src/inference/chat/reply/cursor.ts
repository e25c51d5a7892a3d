// The text of an answer as far as it has come, for readers that go through it once, look ahead, and may go back to a place
// that they kept. A reader is a generator: it yields where it needs more text, so that it reads as if all were there.

/** Yields whenever there is no more text yet; returns what was found out. */
export type Reading<Result = void> = Generator<void, Result, void>;

export class Cursor {
  #text = "";
  #at = 0;
  #keptAt: number | null = null;
  #isEnded = false;

  /** Adds text that came; what was read and is not kept is forgotten. */
  append(text: string): void {
    const start = this.#keptAt ?? this.#at;
    this.#text = this.#text.slice(start) + text;
    this.#at -= start;
    if (this.#keptAt !== null) this.#keptAt = 0;
  }

  /** No more text comes. */
  end(): void {
    this.#isEnded = true;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** What has come and is not read. */
  get rest(): string {
    return this.#text.slice(this.#at);
  }

  advance(count: number): void {
    this.#at += count;
  }

  /** Reads all that has come. */
  takeRest(): string {
    const { rest } = this;
    this.advance(rest.length);
    return rest;
  }

  /** Remembers this place, the only one. */
  keep(): void {
    this.#keptAt = this.#at;
  }

  release(): void {
    this.#keptAt = null;
  }

  /** Goes back to the place that was kept, and forgets it. */
  goBack(): void {
    this.#at = this.#keptAt ?? this.#at;
    this.#keptAt = null;
  }

  /** The next character, which stays unread; empty at the end of the text. */
  *peek(): Reading<string> {
    while (this.#at >= this.#text.length && !this.#isEnded) yield;
    return this.#text.charAt(this.#at);
  }

  /** Reads a text if it comes next, and nothing otherwise. */
  *takes(text: string): Reading<boolean> {
    const isNext = yield* this.sees(text);
    if (isNext) this.advance(text.length);
    return isNext;
  }

  /** Whether a text comes next, which stays unread. */
  *sees(text: string): Reading<boolean> {
    for (;;) {
      const come = this.rest.slice(0, text.length);
      if (come.length === text.length || !text.startsWith(come) || this.#isEnded) return come === text;
      yield;
    }
  }

  /** Reads whatever of these characters comes next, and returns it. */
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

/** Reads a text if it comes next, blanks before it or not, and nothing otherwise; nothing else may be kept. */
export function* takesBehindBlanks(cursor: Cursor, text: string): Reading<boolean> {
  cursor.keep();
  yield* cursor.skip(isBlank);
  const isTaken = yield* cursor.takes(text);
  if (isTaken) cursor.release();
  else cursor.goBack();
  return isTaken;
}

/**
 * Reads text up to the first of some marks, or to its end where there is none, and gives it away as it comes. What may be
 * the prefix of a mark is held back, and so is the padding before it.
 *
 * @returns whether a mark comes next, behind its padding; padding stays unread at the end of the text too
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

/** Where the first of some texts stands in another; -1 where none does. */
function firstOf(text: string, marks: readonly string[]): number {
  const places = marks.map((mark) => text.indexOf(mark)).filter((place) => place >= 0);
  return places.length === 0 ? -1 : Math.min(...places);
}

/** How many characters at the end of a text may be the prefix of a mark that is not whole in it. */
function markPrefixAtEnd(text: string, mark: string): number {
  const countMax = Math.min(text.length, mark.length - 1);
  for (let count = countMax; count > 0; count--) if (text.endsWith(mark.slice(0, count))) return count;
  return 0;
}
