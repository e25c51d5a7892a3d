// Links the calls of a rollout to sequences. A call continues a sequence if its prompt begins with all tokens of the
// sequence so far. Otherwise, it begins a new sequence, for example because its history was rewritten, or another call
// already continued the sequence.

/** One answer of a call. A call with several choices counts as several answers to the same prompt. */
export interface LinkedAnswer {
  readonly promptTokenIds: readonly number[];
  readonly tokenIds: readonly number[];
}

export interface LinkedSequence {
  /** Indices of the sequence's answers, in order. */
  readonly answers: readonly number[];
  /**
   * Index of the answer at which this sequence branches off another one; null if it shares no first tokens with any
   * other.
   */
  readonly branchOf: number | null;
  /** Number of first tokens that this sequence shares with that other sequence. */
  readonly sharedTokens: number;
  readonly tokenCount: number;
}

interface Growing {
  readonly answers: number[];
  tokens: Int32Array;
  readonly branchOf: number | null;
  readonly sharedTokens: number;
}

/** Links answers, which must be in the order in which they were given. */
export function linkCalls(answers: readonly LinkedAnswer[]): readonly LinkedSequence[] {
  const sequences: Growing[] = [];
  answers.forEach(({ promptTokenIds, tokenIds }, index) => {
    const prompt = Int32Array.from(promptTokenIds);
    const whole = Int32Array.from([...promptTokenIds, ...tokenIds]);
    const compared = sequences.map((sequence) => ({
      sequence,
      shared: sharedLength(sequence.tokens, prompt),
    }));
    const continued = longest(compared.filter(({ sequence, shared }) => shared === sequence.tokens.length));
    if (continued !== null) {
      continued.sequence.answers.push(index);
      continued.sequence.tokens = whole;
      return;
    }
    const nearest = longest(compared.filter(({ shared }) => shared > 0));
    const branchOf = nearest && answerAt(nearest.sequence, answers, nearest.shared);
    sequences.push({ answers: [index], tokens: whole, branchOf, sharedTokens: nearest?.shared ?? 0 });
  });
  return sequences.map(({ tokens, ...sequence }) => ({ ...sequence, tokenCount: tokens.length }));
}

function longest<Compared extends { readonly shared: number }>(all: readonly Compared[]): Compared | null {
  return all.reduce<Compared | null>(
    (best, one) => (best === null || one.shared > best.shared ? one : best),
    null,
  );
}

/** Returns the index of the answer whose prompt or tokens contain this position of the sequence. */
function answerAt({ answers }: Growing, all: readonly LinkedAnswer[], position: number): number {
  const lengthOf = (index: number): number => all[index].promptTokenIds.length + all[index].tokenIds.length;
  return answers.find((index) => lengthOf(index) >= position) ?? answers[answers.length - 1];
}

/** Number of values with which both arrays begin. Compares blocks of bytes first, because prompts are long. */
function sharedLength(one: Int32Array, other: Int32Array): number {
  const length = Math.min(one.length, other.length);
  let from = 0;
  while (from + blockLength <= length && isEqual(one, other, from)) from += blockLength;
  while (from < length && one[from] === other[from]) from += 1;
  return from;
}

const blockLength = 1024;

function isEqual(one: Int32Array, other: Int32Array, from: number): boolean {
  const bytesOf = (ids: Int32Array): Buffer =>
    Buffer.from(ids.buffer, ids.byteOffset + 4 * from, 4 * blockLength);
  return bytesOf(one).equals(bytesOf(other));
}
