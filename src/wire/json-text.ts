// JSON that is written in pieces, so that a long answer can be made with pauses in which others have their turn, and
// members whose order counts although they are named by numbers.

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

/** How deep the lists of an answer lie whose items are many: the log-probabilities of a choice. */
const depthMax = 5;

/** The JSON of an answer in pieces: of its members and the items of its lists, down to where nothing is long by itself. */
export function* jsonPieces(answer: object): Generator<string, void> {
  yield* piecesOf(answer, depthMax);
}

function* piecesOf(value: unknown, depth: number): Generator<string, void> {
  if (value instanceof JsonText) yield value.toString();
  else if (depth === 0 || typeof value !== "object" || value === null) yield JSON.stringify(value);
  else yield* Array.isArray(value) ? itemPieces(value, depth - 1) : memberPieces(value, depth - 1);
}

function* itemPieces(items: readonly unknown[], depth: number): Generator<string, void> {
  yield "[";
  for (const [index, item] of items.entries()) {
    if (index > 0) yield ",";
    yield* piecesOf(item, depth);
  }
  yield "]";
}

function* memberPieces(value: object, depth: number): Generator<string, void> {
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
