// JSON that is written in pieces, so that a long answer can be made with pauses in which others have their turn; lists that
// are spelled while their items come, and members whose order counts although they are named by numbers.

/** A member that is JSON already, made when it is written. */
export class JsonText {
  readonly #make: () => string;

  /** @param make the text; called once for each time it is written */
  constructor(make: () => string) {
    this.#make = make;
  }

  toString(): string {
    return this.#make();
  }

  /** For whoever writes JSON in one piece; members named by numbers then stand in the order of these. */
  toJSON(): unknown {
    return JSON.parse(this.#make());
  }
}

/** Called with bytes that an answer takes in memory; throws where it may have no more. */
export type TakeBytes = (count: number) => void;

/** A list closes a piece once it has so many characters. */
const pieceLength = 1 << 16;

/**
 * A list that is spelled while its items come. What is in memory of it is the bytes of its JSON: as objects, the
 * log-probabilities of a long answer take many times as much, and as long to be gone again.
 */
export class JsonList {
  readonly #take: TakeBytes;
  readonly #pieces: Uint8Array[] = [];
  readonly #before: readonly unknown[];
  #open = "";
  #count: number;

  /** @param before items that come first, and may be those of other lists too */
  constructor(take: TakeBytes = () => undefined, before: readonly unknown[] = []) {
    this.#take = take;
    this.#before = before;
    this.#count = before.length;
  }

  get length(): number {
    return this.#count;
  }

  /** @param item as JSON.stringify takes it */
  add(item: unknown): void {
    const json = onOneLine(item instanceof JsonText ? item.toString() : JSON.stringify(item));
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

  /** For whoever writes JSON in one piece. */
  toJSON(): unknown {
    const texts = [...this.pieces()].map((piece) =>
      typeof piece === "string" ? piece : new TextDecoder().decode(piece),
    );
    return JSON.parse(texts.join(""));
  }
}

/** Marks an object whose JSON is long, and is to be written in pieces. */
export const isLong = Symbol("is long");

/** How deep the lists of an answer lie whose items are many. */
const depthMax = 5;

/** The JSON of an answer in pieces: of its members and the items of its lists, down to where nothing is long by itself. */
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

/** So many numbers or texts of a list make a piece. */
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

/** How many items from this one on are numbers or short texts. */
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

/** JSON without the characters that some clients take for the end of a line, though JSON and streams of events do not. */
export function onOneLine(json: string): string {
  // Looking costs half of replacing in vain, and is done for every token of every stream.
  if (!/[\u0085\u2028\u2029]/.test(json)) return json;
  return json.replaceAll(
    /[\u0085\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
