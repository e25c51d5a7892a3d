// Answer to a batch that contains only new feedback records. The reader of the batch writes it in advance, except for
// the time at which the records are stored.
import { LinePacker, type PackedLines, linesIn } from "../packed-lines.ts";

/** Placeholder in the answer for the time of storing. JSON never contains this character unescaped. */
const timeMark = "\u0001";

export interface AnsweredRecord {
  readonly id: string;
  readonly payloadText: string;
  readonly usesOtherSpelling: boolean;
}

/**
 * Writes the answer for each record as one line of JSON, which {@link newBatchAnswer} completes. The line is equal to
 * the JSON of `feedbackBody`.
 */
export class BatchAnswerWriter {
  readonly #lines = new LinePacker();
  readonly #owners: { readonly [Spelling in "usual" | "other"]: string };

  /** @param owner owner of the caller's API key, which becomes the author of the records */
  constructor(owner: string) {
    const name = JSON.stringify(owner);
    const usual = `"vendor_user_id":${name}`;
    this.#owners = { usual, other: `${usual},"wb_user_id":${name}` };
  }

  add({ id, payloadText, usesOtherSpelling }: AnsweredRecord): void {
    const owner = this.#owners[usesOtherSpelling ? "other" : "usual"];
    this.#lines.add(
      `{"id":${JSON.stringify(id)},"created_at":"${timeMark}",${owner},"payload":${payloadText}}`,
    );
  }

  packed(): PackedLines {
    return this.#lines.packed();
  }
}

/** Yields the whole answer. Each piece has the lines of one buffer. */
export function* newBatchAnswer(answers: PackedLines, createdAt: Date): Generator<string, void> {
  const time = createdAt.toISOString();
  let before = '{"res":[';
  for (const pack of answers) {
    const lines = [...linesIn([pack])].join();
    yield before + lines.split(timeMark).join(time);
    before = ",";
  }
  yield answers.length === 0 ? `${before}]}` : "]}";
}
