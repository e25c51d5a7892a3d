// The answer to a batch of which every record is new: written by whoever reads the batch, but for the time, which is not known
// before it is stored.
import { LinePacker, type PackedLines, linesIn } from "../packed-lines.ts";

/** Stands for the time. No JSON holds it, which escapes what it is made of. */
const timeMark = "\u0001";

export interface AnsweredRecord {
  readonly id: string;
  readonly payloadText: string;
  readonly usesOtherSpelling: boolean;
}

/** Answers of records as `feedbackBody` has them, a line each, to be given to {@link newBatchAnswer}. */
export class BatchAnswerWriter {
  readonly #lines = new LinePacker();
  readonly #owners: { readonly [Spelling in "usual" | "other"]: string };

  /** @param owner of the caller's key */
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

/** The whole answer, a pack at a time. */
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
