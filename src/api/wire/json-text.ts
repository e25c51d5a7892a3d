// JSON that is written in pieces, so that other work can run between the pieces of a long answer. A list is serialized
// while its items arrive. Members whose names are numbers keep their order, which plain JavaScript objects would
// change.

/** JSON text as the value of a member. The text is created only when it is written. */
export class JsonText {
  readonly #make: () => string;

  /** @param make returns the text; called each time the text is written */
  constructor(make: () => string) {
    this.#make = make;
  }

  toString(): string {
    return this.#make();
  }

  /** For serializers that write JSON in one piece. They sort members whose names are numbers. */
  toJSON(): unknown {
    return JSON.parse(this.#make());
  }
}

/** Counts bytes of memory that an answer takes. Throws if the memory budget is exhausted. */
export type TakeBytes = (count: number) => void;

/** Length in characters at which the JSON of a list's newest items becomes a piece. */
const pieceLength = 1 << 16;

/**
 * A list that is serialized while its items arrive, so that memory holds only its JSON, not the items. As
 * objects, the log-probabilities of a long answer would take many times as much memory.
 */
export class JsonList {
  readonly #take: TakeBytes;
  readonly #pieces: Uint8Array[] = [];
  readonly #before: readonly unknown[];
  #open = "";
  #count: number;

  /** @param before first items of the list; other lists may share this array */
  constructor(take: TakeBytes = () => undefined, before: readonly unknown[] = []) {
    this.#take = take;
    this.#before = before;
    this.#count = before.length;
  }

  get length(): number {
    return this.#count;
  }

  /** @param item a {@link JsonText}, or any value that JSON.stringify can write */
  add(item: unknown): void {
    const json = escapeLineEnds(item instanceof JsonText ? item.toString() : JSON.stringify(item));
    this.#open += this.#count === 0 ? json : `,${json}`;
    this.#count += 1;
    if (this.#open.length < pieceLength) return;
    const piece = new TextEncoder().encode(this.#open);
    this.#open = "";
    this.#take(piece.length);
    this.#pieces.push(piece);
  }

  *pieces(): Generator<string | Uint8Array, void> {
    yield "[";
    yield* itemPieces(this.#before, depthMax);
    yield* this.#pieces;
    yield `${this.#open}]`;
  }

  /** For serializers that write JSON in one piece. */
  toJSON(): unknown {
    const texts = [...this.pieces()].map((piece) =>
      typeof piece === "string" ? piece : new TextDecoder().decode(piece),
    );
    return JSON.parse(texts.join(""));
  }
}

/** Marks an object whose JSON may be long, so that it is written in pieces. */
export const isLong = Symbol("is long");

/** Number of nesting levels at which an answer is divided into pieces. A deeper value is written in one piece. */
const depthMax = 5;

/** Yields the JSON of an answer in pieces: its members and the items of its lists, down to a fixed depth. */
export function* jsonPieces(answer: object): Generator<string | Uint8Array, void> {
  yield* piecesOf(answer, depthMax);
}

function* piecesOf(value: unknown, depth: number): Generator<string | Uint8Array, void> {
  if (value instanceof JsonText) yield value.toString();
  else if (value instanceof JsonList) yield* value.pieces();
  else if (depth === 0 || typeof value !== "object" || value === null) yield JSON.stringify(value);
  else if (!Array.isArray(value)) yield* memberPieces(value, depth - 1);
  else {
    yield "[";
    yield* itemPieces(value, depth - 1);
    yield "]";
  }
}

/** Maximum number of consecutive numbers or short texts in a list that are written in one piece. */
const plainItemsMax = 1024;

function* itemPieces(items: readonly unknown[], depth: number): Generator<string | Uint8Array, void> {
  let separator = "";
  for (let index = 0; index < items.length; index++) {
    const plainCount = countOfPlain(items, index);
    if (plainCount > 1) {
      yield separator + JSON.stringify(items.slice(index, index + plainCount)).slice(1, -1);
      index += plainCount - 1;
    } else {
      if (separator !== "") yield separator;
      yield* piecesOf(items[index], depth);
    }
    separator = ",";
  }
}

/**
 * Returns how many consecutive items, beginning at index `from`, are numbers or short texts; at most {@link
 * plainItemsMax}.
 */
function countOfPlain(items: readonly unknown[], from: number): number {
  let count = 0;
  for (; count < plainItemsMax && from + count < items.length; count++) {
    const item = items[from + count];
    if (typeof item !== "number" && !(typeof item === "string" && item.length < 64)) break;
  }
  return count;
}

function* memberPieces(value: object, depth: number): Generator<string | Uint8Array, void> {
  yield "{";
  let separator = "";
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    yield* piecesOf(member, depth);
    separator = ",";
  }
  yield "}";
}

/** Escapes characters that some clients treat as line ends. JSON and event streams do not treat them so. */
export function escapeLineEnds(json: string): string {
  // Tests first, because this code runs for every token of every stream. If there is no match, a test costs half as
  // much as a replacement.
  if (!/[\u0085\u2028\u2029]/.test(json)) return json;
  return json.replaceAll(
    /[\u0085\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
