// Packs the engine's outputs for transport from its process to the server's process. Nearly all outputs are tokens, and
// sending columns of numbers is many times faster than sending objects. A token's alternatives become objects only when
// they are read, because a long answer has millions of them.
import { present } from "../../../base/domain/assert.ts";
import type { GeneratedToken, GenerationEvent, TokenAlternative } from "../../../base/domain/generation.ts";
import type { Failure } from "../../../base/processes/serialized-error.ts";
import type { TransferAnswer } from "./ipc-transfers.ts";

/** An output of a call that the parent process has made on the engine. */
export type CallOutput =
  | { readonly kind: "event"; readonly call: number; readonly event: GenerationEvent }
  | { readonly kind: "prepared"; readonly call: number }
  | { readonly kind: "transferred"; readonly call: number; readonly answer: TransferAnswer }
  | { readonly kind: "failed"; readonly call: number; readonly failure: Failure };

export interface PackedOutputs {
  /**
   * One row per token: number of the call, choice, token id, log-probability and number of alternatives; [tokens, 5].
   */
  readonly tokens: Float64Array;
  /** Token id and log-probability of each alternative, [alternatives, 2], in the order of the tokens. */
  readonly alternatives: Float64Array;
  /** All outputs that are not tokens. */
  readonly others: readonly CallOutput[];
  /** For each entry of `others`, its index among all outputs, where each token counts as one output; ascending. */
  readonly otherPlaces: readonly number[];
}

type TokensOutput = Extract<CallOutput, { readonly kind: "event" }> & {
  readonly event: Extract<GenerationEvent, { readonly kind: "tokens" }>;
};

const columnCount = 5;
const alternativeColumnCount = 2;

export function packOutputs(outputs: readonly CallOutput[]): PackedOutputs {
  let tokenCount = 0;
  let alternativeCount = 0;
  for (const output of outputs) {
    if (!isTokens(output)) continue;
    tokenCount += output.event.tokens.length;
    for (const { alternatives } of output.event.tokens) alternativeCount += alternatives.length;
  }
  const tokens = new Float64Array(columnCount * tokenCount);
  const alternatives = new Float64Array(alternativeColumnCount * alternativeCount);
  const others: CallOutput[] = [];
  const otherPlaces: number[] = [];
  let at = 0;
  let alternativeAt = 0;
  for (const output of outputs) {
    if (!isTokens(output)) {
      otherPlaces.push(at / columnCount + others.length);
      others.push(output);
      continue;
    }
    for (const token of output.event.tokens) {
      tokens[at++] = output.call;
      tokens[at++] = output.event.choice;
      tokens[at++] = token.id;
      tokens[at++] = token.logprob;
      tokens[at++] = token.alternatives.length;
      for (const { id, logprob } of token.alternatives) {
        alternatives[alternativeAt++] = id;
        alternatives[alternativeAt++] = logprob;
      }
    }
  }
  return { tokens, alternatives, others, otherPlaces };
}

/** Yields the packed outputs in their original order; each token is a separate event. */
export function* unpackOutputs(packed: PackedOutputs): Generator<CallOutput> {
  const { tokens, others, otherPlaces } = packed;
  const count = tokens.length / columnCount + others.length;
  let otherCount = 0;
  let alternativeAt = 0;
  for (let place = 0; place < count; place++) {
    if (otherPlaces[otherCount] === place) {
      yield present(others[otherCount], "an output for each place");
      otherCount += 1;
      continue;
    }
    const at = columnCount * (place - otherCount);
    const [call, choice, id, logprob] = [tokens[at], tokens[at + 1], tokens[at + 2], tokens[at + 3]];
    const end = alternativeAt + alternativeColumnCount * tokens[at + 4];
    const token =
      alternativeAt === end
        ? { id, logprob, alternatives: [] }
        : new UnpackedToken(id, logprob, packed.alternatives.subarray(alternativeAt, end));
    alternativeAt = end;
    yield { kind: "event", call, event: { kind: "tokens", choice, tokens: [token] } };
  }
}

/** A token whose alternatives are unpacked when they are first read. */
class UnpackedToken implements GeneratedToken {
  readonly id: number;
  readonly logprob: number;
  readonly #columns: Float64Array;

  constructor(id: number, logprob: number, columns: Float64Array) {
    this.id = id;
    this.logprob = logprob;
    this.#columns = columns;
  }

  get alternatives(): readonly TokenAlternative[] {
    const columns = this.#columns;
    return Array.from({ length: columns.length / alternativeColumnCount }, (_, index) => ({
      id: columns[alternativeColumnCount * index],
      logprob: columns[alternativeColumnCount * index + 1],
    }));
  }
}

function isTokens(output: CallOutput): output is TokensOutput {
  return output.kind === "event" && output.event.kind === "tokens";
}
