// Request bodies with feedback like that of real programs: scores of calls, each record with its own id. The bodies are
// built once and reused with new ids, so that they cost the client next to nothing.

/** Number of calls that the records score in turn; record `callCount` scores the first call again. */
export const callCount = 5000;
/** Number of distinct request bodies. After the last body, the first one is sent again with new ids. */
const bodyCount = 50;

/** Returns the reference to the call that a record scores. */
export function referenceOf(number: number): string {
  return `weave:///local/bench/call/0192d3a4-0000-7000-8000-${String(number % callCount).padStart(12, "0")}`;
}

/** Start of a record's id; the record's number fills the last twelve digits of the UUID. */
const idStart = "0192d3a5-0000-7000-8000-";
const blank = "000000000000";

function recordOf(number: number): object {
  return {
    id: idStart + blank,
    project_id: "local/bench",
    weave_ref: referenceOf(number),
    feedback_type: number % 5 === 0 ? "helpfulness" : "correctness",
    // Scrambled, so that consecutive records have different scores.
    payload: {
      score: ((number * 7919) % 100_003) / 100_003,
      reason: `The answer has ${number % 97} of the words that were asked for.`,
    },
    creator: `annotator ${number % 11}`,
    wb_user_id: null,
  };
}

/** Returns the same few request bodies again and again, each time with new ids for their records. */
export class FeedbackBodies {
  readonly #bodies: readonly { readonly bytes: Buffer; readonly idPlaces: readonly number[] }[];
  readonly #recordsPerBody: number;
  #bodyIndex = 0;
  #nextId: number;

  /** @param batchSize records per body; 0 creates bodies with a single record instead of a list */
  constructor(batchSize: number, firstId: number) {
    this.#recordsPerBody = Math.max(1, batchSize);
    this.#nextId = firstId;
    this.#bodies = Array.from({ length: batchSize === 0 ? 1000 : bodyCount }, (_, index) => {
      const records = Array.from({ length: this.#recordsPerBody }, (__, inBody) =>
        recordOf(index * this.#recordsPerBody + inBody),
      );
      const bytes = Buffer.from(JSON.stringify(batchSize === 0 ? records[0] : { batch: records }));
      return { bytes, idPlaces: placesOf(bytes, idStart + blank).map((place) => place + idStart.length) };
    });
  }

  get recordsPerBody(): number {
    return this.#recordsPerBody;
  }

  /** Returns the next body. The caller must send it immediately, because a later call overwrites its ids. */
  next(): Buffer {
    const { bytes, idPlaces } = this.#bodies[this.#bodyIndex];
    this.#bodyIndex = (this.#bodyIndex + 1) % this.#bodies.length;
    for (const place of idPlaces)
      bytes.write((this.#nextId++).toString(16).padStart(blank.length, "0"), place, "latin1");
    return bytes;
  }
}

function placesOf(bytes: Buffer, text: string): readonly number[] {
  const places: number[] = [];
  for (let place = bytes.indexOf(text); place !== -1; place = bytes.indexOf(text, place + text.length))
    places.push(place);
  return places;
}
