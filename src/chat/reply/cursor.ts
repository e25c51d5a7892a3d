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
    for (;;) {
      const come = this.rest.slice(0, text.length);
      if (come.length === text.length || !text.startsWith(come) || this.#isEnded) {
        if (come !== text) return false;
        this.advance(text.length);
        return true;
      }
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
 * Reads text up to a mark, or to its end where there is none, and gives it away as it comes. What may be the beginning of
 * the mark is held back, and so is the padding before it.
 *
 * @returns whether the mark comes next, behind its padding; padding stays unread at the end of the text too
 */
export function* readUntil(
  cursor: Cursor,
  { mark, isPadding }: { readonly mark: string | null; readonly isPadding: (character: string) => boolean },
  give: (text: string) => void,
): Reading<boolean> {
  for (;;) {
    const { rest } = cursor;
    const found = mark === null ? -1 : rest.indexOf(mark);
    const isLast = found < 0 && cursor.isEnded;
    const heldCount = isLast || mark === null ? 0 : beginningAtEnd(rest, mark);
    let end = found >= 0 ? found : rest.length - heldCount;
    while (end > 0 && isPadding(rest[end - 1])) end -= 1;
    if (end > 0) give(rest.slice(0, end));
    cursor.advance(end);
    if (found >= 0 || isLast) return found >= 0;
    yield;
  }
}

/** How many characters at the end of a text may be the beginning of a mark that is not whole in it. */
function beginningAtEnd(text: string, mark: string): number {
  const countMax = Math.min(text.length, mark.length - 1);
  for (let count = countMax; count > 0; count--) if (text.endsWith(mark.slice(0, count))) return count;
  return 0;
}
